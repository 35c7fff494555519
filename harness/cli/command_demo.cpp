#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <memory>
#include <string>
#include <string_view>
#include <system_error>

#include "harness/cli/commands.hpp"
#include "harness/cli/terminal.hpp"
#include "harness/profile/file.hpp"
#include "harness/run/exit_codes.hpp"
#include "harness/run/plan.hpp"

namespace peakline::bench {
namespace {

namespace fs = std::filesystem;

// Beside the program, where the build and `cmake --install` put it.
fs::path demo_folder() {
  const fs::path folder =
      fs::read_symlink("/proc/self/exe").parent_path().parent_path() / "share/peakline/demo";
  if (!fs::is_regular_file(folder / "README.txt"))
    throw UsageError(
        fmt::format("the demo's files are not in {}: the wheel and cmake --install bring them",
                    folder.string()));
  return folder;
}

// Copies into a new or empty directory; removes it again on failure.
void copy_demo(const fs::path& from, const fs::path& to) {
  const auto refuse_since = [&](std::string_view why) {
    throw UsageError(fmt::format("demo {}: {}", shown(to.string()), why));
  };
  if (to.empty()) throw UsageError("demo '': a directory needs a name");
  const auto refuse = [&](const std::error_code& error) { refuse_since(error.message()); };
  std::error_code error, unremoved;
  const fs::path source = fs::canonical(from), target = fs::weakly_canonical(to, error);
  if (error) refuse(error);
  // A copy there would hold itself, without end.
  if (std::ranges::mismatch(source, target).in1 == source.end())
    refuse_since("in the folder of the demo's own files: name another one");
  const bool is_new = fs::create_directory(to, error);
  const bool is_empty = !error && fs::is_empty(to, error);
  if (error) refuse(error);
  if (!is_empty) refuse(std::make_error_code(std::errc::directory_not_empty));
  fs::copy(from, to, fs::copy_options::recursive, error);
  if (!error) return;
  for (const fs::directory_entry& file : fs::directory_iterator(from))
    fs::remove_all(to / file.path().filename(), unremoved);
  if (is_new) fs::remove(to, unremoved);
  refuse(error);
}

}  // namespace

void add_demo_command(CLI::App& app, Action& action) {
  auto directory = std::make_shared<std::string>();
  CLI::App* demo_app = app.add_subcommand(
      "demo", "Write files of real machines to try every command with, without a GPU");
  demo_app->add_option("DIR", *directory, "A directory that is new or empty")->required();
  demo_app->footer("Example:\n  peakline demo try && cd try");
  set_action(demo_app, action, [=] {
    const fs::path folder = demo_folder();
    const std::string text = profile_format::read_text(folder / "README.txt");
    copy_demo(folder, *directory);
    return print(text, kExitOk);
  });
}

}  // namespace peakline::bench
