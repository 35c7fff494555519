# Makes the completion of a command for a shell from its manual page, which its own parser made:
# awk -v shell=bash|zsh|fish -f completion.awk peakline.1

function plain(text) {
  gsub(/\\-/, "-", text)
  gsub(/\\&/, "", text)
  gsub(/\\e/, "\\", text)
  return text
}

# A description up to its first clause, for one line of a menu.
function short(text) {
  text = plain(text)
  sub(/([;:.] |, which| \(|\.$).*/, "", text)
  return text
}

function quoted(text) {
  gsub(/'/, "'\\''", text)
  return "'" text "'"
}

# The words of "{ddp,fsdp}" and "all|none|LIST" that are typed as they are.
function choices(text,   parts, n, i, found) {
  gsub(/[{}]/, "", text)
  n = split(text, parts, /[,|]/)
  for (i = 1; i <= n; i++)
    if (parts[i] ~ /^[a-z][a-z0-9_-]*$/) found = found " " parts[i]
  return substr(found, 2)
}

/^\.TH / { program = tolower(plain($2)) }
/^\.SH / { section = $2; command = "" }
/^\.SS / {
  command = $2
  commands[++n_commands] = command
  listed = listed " " command
  getline
  about[command] = short($0)
}
/^\.B \\-/ && section ~ /^(OPTIONS|COMMANDS)$/ {
  line = plain(substr($0, 4))
  split(line, parts, " ")
  key = command SUBSEP (++count[command])
  names[key] = parts[1]
  value[key] = substr(line, length(parts[1]) + 2)
  if (getline > 0) described[key] = short($0)
}

# Prints a command's options; "": those of the program itself.
function print_options(command,   i, key) {
  for (i = 1; i <= count[command]; i++) {
    key = command SUBSEP i
    if (shell == "bash") in_bash(command, key)
    if (shell == "zsh") in_zsh(key)
    if (shell == "fish") in_fish(command, key)
  }
}

function in_bash(command, key,   all) {
  flags = flags " " names[key]
  if (choices(value[key]) == "") return
  all = names[key]
  gsub(/,/, "' | '" command " ", all)
  printf "    '%s %s') echo %s ;;\n", command, all, choices(value[key])
}

function in_zsh(key,   all, n, i, text, words) {
  text = described[key]
  gsub(/[\]\[\\:]/, "\\\\&", text)
  words = choices(value[key])
  words = value[key] == "" ? "" : ":value:" (words == "" ? "_files" : "(" words ")")
  n = split(names[key], all, ",")
  for (i = 1; i <= n; i++) printf " \\\n    %s", quoted(all[i] "[" text "]" words)
}

function in_fish(command, key,   all, n, i, where, words) {
  where = command != "" ? command : listed
  if (where != "")
    where = " -n '" (command == "" ? "not " : "") "__fish_seen_subcommand_from" \
      (command == "" ? "" : " ") where "'"
  printf "complete -c %s%s", program, where
  n = split(names[key], all, ",")
  for (i = 1; i <= n; i++)
    printf all[i] ~ /^--/ ? " -l %s" : " -s %s", substr(all[i], all[i] ~ /^--/ ? 3 : 2)
  words = choices(value[key])
  if (value[key] != "") printf "%s", words == "" ? " -r" : " -x -a " quoted(words)
  print described[key] == "" ? "" : " -d " quoted(described[key])
}

function bash(   i, name) {
  name = "_" program
  gsub(/-/, "_", name)
  print name "_words() {\n  case $1 in"
  for (i = 0; i <= n_commands; i++) {
    flags = ""
    print_options(commands[i])
    gsub(/,/, " ", flags)
    printf "    '%s -') echo%s ;;\n", commands[i], flags
  }
  print "  esac\n}"
  print name "() { # COMMAND WORD PREVIOUS"
  print "  local commands='" substr(listed, 2) "' of='' words"
  print "  case \" $commands \" in *\" ${COMP_WORDS[1]} \"*) of=${COMP_WORDS[1]} ;; esac"
  print "  words=$(" name "_words \"$of $3\")"
  print "  if [[ $2 == -* ]]; then words=$(" name "_words \"$of -\"); fi"
  print "  if ((COMP_CWORD == 1)) && [[ $2 != -* ]]; then words=$commands; fi"
  print "  mapfile -t COMPREPLY < <(compgen -W \"$words\" -- \"$2\") # none: files, by -o default"
  print "}\ncomplete -o default -F " name " " program
}

function zsh(   i, text) {
  print "#compdef " program
  if (n_commands) {
    print "local -a subcommands=("
    for (i = 1; i <= n_commands; i++) {
      text = about[commands[i]]
      gsub(/:/, "\\:", text)
      print "  " quoted(commands[i] ":" text)
    }
    print ")\nif ((CURRENT == 2)) && [[ $PREFIX != -* ]]; then"
    print "  _describe command subcommands\n  return\nfi"
  }
  print "case $words[2] in"
  for (i = 1; i <= n_commands + 1; i++) { # the program's own options: where it is none of them
    printf "  %s) _arguments", (i > n_commands ? "*" : commands[i])
    print_options(commands[i])
    print " \\\n    '*:file:_files' ;;"
  }
  print "esac"
}

function fish(   i) {
  for (i = 1; i <= n_commands; i++)
    printf "complete -c %s -n __fish_use_subcommand -f -a %s -d %s\n", program, commands[i],
      quoted(about[commands[i]])
  for (i = 0; i <= n_commands; i++) print_options(commands[i])
}

END {
  if (shell == "bash") bash()
  if (shell == "zsh") zsh()
  if (shell == "fish") fish()
}
