import { type CompletedCommand, type CompletedFlag, type FlagValue } from './model.ts';

/** fish has no `"$(...)"` before its version 3.4. */
const CLUSTERS =
  'ls (set -q XDG_STATE_HOME; and echo $XDG_STATE_HOME; or echo $HOME/.local/state)/holdfast 2>/dev/null';

export function fishCompletion(commands: readonly CompletedCommand[]): string {
  return `# fish completion of holdfast: holdfast completion fish | source
complete -c holdfast -e
${commands.map(({ name, summary }) => `complete -c holdfast -f -n __fish_use_subcommand -a ${name} -d ${quotedFish(summary)}`).join('\n')}
${commands.flatMap(linesOf).join('\n')}
`;
}

function linesOf({ name, words, flags }: CompletedCommand): readonly string[] {
  const when = `complete -c holdfast -n ${quotedFish(`__fish_seen_subcommand_from ${name}`)}`;
  const own = words.length === 0 ? [] : [`${when} -f -a ${quotedFish(words.join(' '))}`];
  return [...own, ...flags.map((flag) => `${when} ${flagText(flag)}`)];
}

const flagText = ({ name, short, help, value }: CompletedFlag): string =>
  [`-l ${name}`, ...(short === undefined ? [] : [`-s ${short}`]), valueText(value), `-d ${quotedFish(help)}`]
    .filter((part) => part !== '')
    .join(' ');

function valueText(value: FlagValue): string {
  if (value === 'nothing') return '';
  if (value === 'file') return '-r -F';
  return value === 'cluster' ? `-x -a ${quotedFish(`(${CLUSTERS})`)}` : `-x -a ${quotedFish(value.join(' '))}`;
}

const quotedFish = (text: string): string => `'${text.replaceAll('\\', '\\\\').replaceAll("'", "\\'")}'`;
