import { CLUSTERS_COMMAND, type CompletedCommand, type FlagValue, quoted } from './model.ts';

export function bashCompletion(commands: readonly CompletedCommand[]): string {
  return `# bash completion of holdfast: source <(holdfast completion bash)
_holdfast() {
  local cur=\${COMP_WORDS[COMP_CWORD]} prev=\${COMP_WORDS[COMP_CWORD-1]} cmd='' word
  COMPREPLY=()
  # Bash makes words of its own of --flag=value.
  if [[ $cur == '=' ]]; then cur=''; elif [[ $prev == '=' ]]; then prev=\${COMP_WORDS[COMP_CWORD-2]}; fi
  for word in "\${COMP_WORDS[@]:1:COMP_CWORD-1}"; do
    if [[ $word == '--' ]]; then return; fi
    if [[ -z $cmd && $word != -* ]]; then cmd=$word; fi
  done
  case "$cmd $prev" in
${commands.flatMap(valueCases).join('\n')}
  esac
  case "$cmd" in
    '') COMPREPLY=($(compgen -W ${quoted(['help', ...commands.map(({ name }) => name)].join(' '))} -- "$cur")) ;;
${commands.map(wordCase).join('\n')}
  esac
}
complete -o default -F _holdfast holdfast
`;
}

/** The value of a flag. Without words, bash itself completes files. */
function valueCases({ name, flags }: CompletedCommand): readonly string[] {
  return flags.flatMap((flag) => {
    if (flag.value === 'nothing') return [];
    const forms = [`--${flag.name}`, ...(flag.short === undefined ? [] : [`-${flag.short}`])];
    const pattern = forms.map((form) => quoted(`${name} ${form}`)).join('|');
    return [`    ${pattern}) ${answerOf(flag.value)}return ;;`];
  });
}

function answerOf(value: Exclude<FlagValue, 'nothing'>): string {
  if (value === 'file') return '';
  const words = value === 'cluster' ? `"$(${CLUSTERS_COMMAND})"` : quoted(value.join(' '));
  return `COMPREPLY=($(compgen -W ${words} -- "$cur")); `;
}

function wordCase({ name, words, flags }: CompletedCommand): string {
  const names = flags.flatMap((flag) => [`--${flag.name}`, ...(flag.short === undefined ? [] : [`-${flag.short}`])]);
  const others = words.length === 0 ? '' : `else COMPREPLY=($(compgen -W ${quoted(words.join(' '))} -- "$cur")); `;
  return `    ${name}) if [[ $cur == -* ]]; then COMPREPLY=($(compgen -W ${quoted(names.join(' '))} -- "$cur")); ${others}fi ;;`;
}
