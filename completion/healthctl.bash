# Completion of healthctl(1) for bash: commands, options, and names from the live healthd.
# Names come from outside: they are compared, never given to `compgen -W`, which would expand them.

_healthctl_names() {
    # Keys, units and numbers of incidents, one a line; nothing where healthd cannot be asked.
    local kind
    for kind in "$@"; do
        case $kind in
            keys) healthctl checks --no-legend --no-pager | awk '{ print $2 }' ;;
            units) healthctl checks --no-legend --no-pager | awk '
                { sub(/^[^:]*:/, "", $2); sub(/\/.*/, "", $2) }
                $2 ~ /\.[a-z]+$/ && !seen[$2]++ { print $2 }' ;;
            incidents) healthctl incidents --no-legend --no-pager | awk '{ print $1 }' ;;
        esac
    done 2>/dev/null
}

_healthctl() {
    local verbs="status checks incidents show why look restart hold monitor verify version"
    local options="--json --no-pager --no-legend --quiet --no-ask-password --help"
    local cur=$2 verb="" word words cword
    # A key holds a colon, at which readline would begin another word.
    if declare -F _get_comp_words_by_ref >/dev/null; then
        _get_comp_words_by_ref -n : cur words cword
    else
        words=("${COMP_WORDS[@]}") cword=$COMP_CWORD
    fi
    for word in "${words[@]:1:cword-1}"; do
        [[ $verb == hold && $word == -- ]] && { _healthctl_command; return; }
        [[ -z $verb && " $verbs " == *" $word "* ]] && verb=$word
    done
    [[ $verb == incidents ]] && options+=" --open --limit"
    [[ $verb == hold ]] && options+=" --why --for"
    COMPREPLY=()
    case $cur,$verb in
        -*) mapfile -t COMPREPLY < <(compgen -W "$options" -- "$cur") ;;
        *,) mapfile -t COMPREPLY < <(compgen -W "$verbs" -- "$cur") ;;
        *,verify) compopt -o filenames; mapfile -t COMPREPLY < <(compgen -f -- "$cur") ;;
        *,status | *,show) _healthctl_among "$cur" keys units incidents ;;
        *,look | *,why) _healthctl_among "$cur" keys units ;;
        *,restart | *,hold) _healthctl_among "$cur" units ;;
    esac
    if declare -F __ltrim_colon_completions >/dev/null; then
        __ltrim_colon_completions "$cur"
    fi
}

_healthctl_command() {
    # What stands after `hold UNIT --` is completed as a command line of its own.
    local index
    for index in "${!COMP_WORDS[@]}"; do
        if [[ ${COMP_WORDS[index]} == -- ]] && declare -F _command_offset >/dev/null; then
            _command_offset $((index + 1))
            return
        fi
    done
    mapfile -t COMPREPLY < <(compgen -c -- "${COMP_WORDS[COMP_CWORD]}")
}

_healthctl_among() {
    local cur=$1 name
    shift
    while read -r name; do
        [[ $name == "$cur"* && $name =~ ^[A-Za-z0-9:_.@/\\#-]+$ ]] && COMPREPLY+=("${name//\\/\\\\}")
    done < <(_healthctl_names "$@")
}

complete -F _healthctl healthctl
