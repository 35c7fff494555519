# Completes peakline's commands and options in bash, from its own --help.
_peakline() {
  local help='--help' pattern='/^commands:/I,/^$/s/^  \([a-z]\{1,\}\) .*/\1/p'
  if ((COMP_CWORD > 1)); then
    [[ $2 == -* ]] || return 0 # a file, by -o default
    help="${COMP_WORDS[1]} --help" pattern='s/^  \(-[a-z],\)\{0,1\} *\(--[a-z_-]*\).*/\2/p'
  fi
  # shellcheck disable=SC2086 # a command and its option
  mapfile -t COMPREPLY < <(compgen -W "$("$1" $help 2>/dev/null | sed -n "$pattern")" -- "$2")
}
complete -o default -F _peakline peakline
