import { CLUSTERS_COMMAND, type CompletedCommand, type CompletedFlag, quoted } from './model.ts';

export function zshCompletion(commands: readonly CompletedCommand[]): string {
  const list = commands.map(({ name, summary }) => `    ${quoted(`${plain(name)}:${summary}`)}`);
  return `#compdef holdfast
# zsh completion of holdfast: source <(holdfast completion zsh)
_holdfast_clusters() { compadd -- $(${CLUSTERS_COMMAND}) }
_holdfast() {
  if (( CURRENT == 2 )); then
    local -a commands=(
${list.join('\n')}
    )
    _describe command commands
    return
  fi
  local command=$words[2]
  shift words
  (( CURRENT-- ))
  case $command in
${commands.map(caseOf).join('\n')}
  esac
}
compdef _holdfast holdfast
`;
}

function caseOf({ name, words, flags }: CompletedCommand): string {
  const rest = words.length === 0 ? `'*:: :_files'` : quoted(`*: :(${words.join(' ')})`);
  return `    ${name}) _arguments ${[...flags.flatMap(specsOf), rest].join(' ')} ;;`;
}

function specsOf({ name, short, help, value }: CompletedFlag): readonly string[] {
  const action =
    value === 'nothing'
      ? ''
      : value === 'file'
        ? ': :_files'
        : value === 'cluster'
          ? ': :_holdfast_clusters'
          : `: :(${value.join(' ')})`;
  const equals = value === 'nothing' ? '' : '=';
  const about = `[${help.replace(/[[\]\\]/g, '\\$&')}]`;
  return [
    quoted(`--${name}${equals}${about}${action}`),
    ...(short === undefined ? [] : [quoted(`-${short}${about}${action}`)]),
  ];
}

/** A colon separates a word from its description. */
const plain = (text: string): string => text.replaceAll(':', '\\:');
