import { OperatorError } from '@holdfast/platform';
import { nearest } from '@holdfast/platform/config';
import type { Terminal } from './command.ts';
import { explain } from './explain.ts';
import { COMMANDS } from './registry.ts';
import { takeNoColor } from './terminal/colours.ts';
import { openTerminal, type TerminalDeps } from './terminal/open-terminal.ts';
import { PLAIN } from './terminal/paint.ts';

const COMMAND_WIDTH = 12;
const HELP_WORDS = new Set(['help', '--help', '-h']);
/** People try the flag, too. */
const VERSION_FLAGS = new Set(['--version', '-v']);

/** Runs what a person typed, and returns the exit code. */
export function runCommandLine(typed: readonly string[], process: Omit<TerminalDeps, 'noColor'>): Promise<number> {
  const { noColor, rest } = takeNoColor(typed);
  const [typedName = 'help', ...argv] = rest;
  const name = VERSION_FLAGS.has(typedName) ? 'version' : typedName;
  return runCommand(name, argv, openTerminal({ ...process, noColor }));
}

/** Runs a command and returns the exit code. */
export async function runCommand(name: string, argv: readonly string[], terminal: Terminal): Promise<number> {
  const [topic = ''] = argv;
  if (HELP_WORDS.has(name) && Object.hasOwn(COMMANDS, topic)) return runCommand(topic, ['--help'], terminal);
  if (HELP_WORDS.has(name)) {
    terminal.print(commandList(terminal));
    return 0;
  }
  try {
    const entry = Object.hasOwn(COMMANDS, name) ? COMMANDS[name] : undefined;
    if (entry === undefined) throw unknownCommand(name);
    const code = (await (await entry.load()).run(argv, terminal)) ?? 0;
    if (entry.example !== undefined && asksHelp(argv)) terminal.print(`\nExample: holdfast ${entry.example}`);
    return code;
  } catch (error) {
    return explain(error, terminal);
  }
}

/** What follows `--` belongs to another program. */
const asksHelp = (argv: readonly string[]): boolean =>
  argv
    .slice(0, argv.includes('--') ? argv.indexOf('--') : undefined)
    .some((word) => word === '--help' || word === '-h');

function commandList({ paint = PLAIN }: Terminal): string {
  const rows = [
    ['start', 'Run a whole cluster in this process until Ctrl-C'] as const,
    ...Object.entries(COMMANDS).map(([name, { summary }]) => [name, summary] as const),
  ];
  const lines = rows.map(
    ([name, summary]) => `  ${paint.strong(name)}${' '.repeat(COMMAND_WIDTH - name.length)}${summary}`,
  );
  return `holdfast <command> [flags]   (in the repository: npm run holdfast -- <command> [flags])\n\n${lines.join('\n')}\n\n\`<command> --help\` lists its flags. --no-color and NO_COLOR turn colours off. For everything else there is kubectl.`;
}

function unknownCommand(name: string): OperatorError {
  return new OperatorError({
    code: 'UnknownCommand',
    message: `unknown command "${name}"`,
    nextStep: insteadOf(name),
    exitCode: 2,
  });
}

/** People who know kubectl try its commands. */
const OF_KUBECTL: ReadonlySet<string> = new Set(
  'annotate api-resources apply attach auth cordon cp create debug describe diff drain edit events exec expose label logs patch port-forward replace rollout scale set taint top uncordon wait'.split(
    ' ',
  ),
);

function insteadOf(name: string): string {
  if (OF_KUBECTL.has(name)) return `Use kubectl for it: \`kubectl ${name}\`; \`holdfast status\` names the kubeconfig.`;
  const names = ['start', ...Object.keys(COMMANDS)];
  const meant = nearest(name, names);
  if (meant !== undefined) return `Do you mean \`${meant}\`? \`help\` describes all commands.`;
  return `Use one of ${names.join(', ')}; \`help\` describes them.`;
}
