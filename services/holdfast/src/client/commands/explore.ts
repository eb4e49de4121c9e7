import { readFile } from 'node:fs/promises';
import {
  describePlan,
  describeStage,
  type Exploration,
  explore,
  type Plan,
  type Progress,
  readPlan,
  readWorkload,
  reportOf,
  summaryOf,
  type Workload,
} from '@holdfast/cluster/explore';
import { OperatorError } from '@holdfast/platform';
import { describeFlags, readArguments, type SettingSpecs } from '@holdfast/platform/config';
import { parse } from 'yaml';
import { yamlFault } from '../../local/yaml-fault.ts';
import type { Command, Terminal } from '../command.ts';
import { makeFolder, writeFindings } from '../history/finding-pages.ts';
import { misuse } from '../misuse.ts';
import { type Paint, PLAIN } from '../terminal/paint.ts';
import { showWork } from '../terminal/work.ts';

const SETTINGS = {
  workload: { kind: 'string', short: 'w', help: 'File with what users do: setup and steps (YAML or JSON)' },
  minutes: {
    kind: 'integer',
    help: 'Ends after this time with what was found so far',
    default: 10,
    min: 1,
    max: 1_440,
  },
  plans: { kind: 'integer', help: 'Plans to try at most', default: 100, min: 1, max: 100_000 },
  plan: { kind: 'string', help: 'Tries only this plan, as a finding prints it' },
  seed: {
    kind: 'integer',
    help: 'Makes names and uids of the cluster repeatable',
    default: 1,
    min: 0,
    max: 2 ** 32 - 1,
  },
  'hollow-nodes': { kind: 'integer', help: 'Nodes with simulated pods', default: 1, min: 0, max: 1_000 },
  controllers: {
    kind: 'list',
    help: 'Controllers of the cluster, for an operator that replaces one: * = all, -name = not this one',
    default: ['*'],
  },
  'quiet-ms': {
    kind: 'integer',
    help: 'The operator rests when so long nothing happens; longer than it waits between its tries',
    default: 1_000,
    min: 50,
    max: 600_000,
  },
  'start-seconds': { kind: 'integer', help: 'Time for its first request', default: 30, min: 1, max: 3_600 },
  html: {
    kind: 'string',
    help: 'Writes a page for each finding into this folder, in place of earlier ones: who wrote what and had seen what',
  },
  json: { kind: 'boolean', help: 'One JSON document for each finding, and one for the end' },
  help: { kind: 'boolean', short: 'h', help: 'Print this help' },
} as const satisfies SettingSpecs;

const ABOUT =
  'Runs the workload with the operator twice without a fault, then once with each promising fault, each time on a fork\n' +
  'of one cluster, and compares the ends. The operator gets its cluster by KUBECONFIG. Exit code 1: something is found.';

/** Exit code when a plan has findings. */
const FOUND = 1;

export const EXPLORE: Command = {
  settings: SETTINGS,
  run: async (argv, terminal) => {
    const { settings, words } = readArguments(SETTINGS, argv);
    if (settings.help) {
      terminal.print(
        `holdfast explore --workload FILE [flags] -- <operator command>\n\n${ABOUT}\n\n${describeFlags(SETTINGS).trimEnd()}`,
      );
      return 0;
    }
    if ((words[0] ?? '') === '')
      throw misuse('no operator is given', 'Write its command after --, as in `-- ./operator`.');
    const file = settings.workload;
    if (file === undefined) throw misuse('no workload is given', 'Name its file with --workload.');
    if (settings.html !== undefined) await makeFolder(settings.html);
    using watch = watchPlans(settings.plans, terminal);
    using interruption = interruptions();
    const exploration = await explore({
      workload: await workloadOf(file),
      command: words,
      env: terminal.env,
      clock: terminal.clock,
      hollowNodes: settings['hollow-nodes'],
      controllers: settings.controllers,
      quietMs: settings['quiet-ms'],
      startWithinMs: settings['start-seconds'] * 1_000,
      seed: settings.seed,
      plans: settings.plans,
      withinMs: settings.minutes * 60_000,
      ...(settings.plan === undefined ? {} : { only: planOf(settings.plan) }),
      historyOfFindings: settings.html !== undefined,
      onProgress: (progress) => watch.tell(progress),
      signal: interruption.signal,
    });
    const again = (plan: string): string =>
      commandLine(['explore', ...flagsOf(argv, words), '--plan', plan, '--', ...words]);
    const lines = settings.json ? documentsOf(exploration, again) : textsOf(exploration, again);
    for (const line of lines) terminal.print(line);
    const say = settings.json ? terminal.tell : terminal.print;
    if (settings.html !== undefined) await writeFindings(settings.html, exploration.accusations, say);
    if (interruption.signal.aborted) throw interrupted(exploration.tried);
    return exploration.accusations.length === 0 ? 0 : FOUND;
  },
};

/** Aborts when somebody asks this process to end, so that the operator does not outlive it. */
function interruptions(): Disposable & { readonly signal: AbortSignal } {
  const ending = new AbortController();
  const onSignal = (): void => ending.abort(interrupted(0));
  for (const name of ENDING_SIGNALS) process.once(name, onSignal);
  return {
    signal: ending.signal,
    [Symbol.dispose]: () => {
      for (const name of ENDING_SIGNALS) process.off(name, onSignal);
    },
  };
}

const ENDING_SIGNALS = ['SIGINT', 'SIGTERM', 'SIGHUP'] as const;

const interrupted = (tried: number): OperatorError =>
  new OperatorError({
    code: 'Interrupted',
    message: `the exploration was interrupted after ${tried} plans; the operator was ended`,
    nextStep: 'Start it again; --minutes and --plans bound it.',
    exitCode: 130,
  });

type Again = (plan: string) => string;

const textsOf = (exploration: Exploration, again: Again): readonly string[] => [
  ...exploration.accusations.map((each) => `${reportOf(each, again)}\n`),
  summaryOf(exploration),
];

function documentsOf({ accusations, tried, planned, runs, tookMs }: Exploration, again: Again): readonly string[] {
  const found = accusations.map(({ plan, findings }) => ({
    event: 'finding',
    plan,
    about: describePlan(plan),
    findings,
    again: again(JSON.stringify(plan)),
  }));
  const end = { event: 'end', found: accusations.length, tried, planned, runs, tookMs };
  return [...found, end].map((each) => JSON.stringify(each));
}

/** A step of a run is told only so long after the last line. */
const SILENT_MS = 5_000;

/** Tells each plan, with a bar below, and what happens meanwhile when that takes long. */
function watchPlans(most: number, terminal: Terminal): Disposable & { tell(progress: Progress): void } {
  // Each plan has a line: without a bar nothing more is to be said.
  const work = showWork('plans', { ...terminal, tell: () => {} });
  let plans: number | undefined;
  let toldMs = -Infinity;
  return {
    tell: (progress) => {
      const now = terminal.clock.monotonic();
      if (progress.kind === 'stage' && now - toldMs < SILENT_MS) return;
      toldMs = now;
      terminal.tell(lineOf(progress, terminal.paintTold ?? PLAIN));
      if (progress.kind === 'stage') return;
      if (progress.kind === 'reference') plans = Math.min(progress.plans, most);
      work.at(progress.kind === 'reference' ? 0 : progress.number, plans);
    },
    [Symbol.dispose]: () => work[Symbol.dispose](),
  };
}

function lineOf(progress: Progress, paint: Paint): string {
  if (progress.kind === 'stage') return describeStage(progress.stage);
  if (progress.kind === 'reference') {
    return `reference: ${progress.writes} writes, ${progress.events} events seen, ${progress.plans} plans`;
  }
  const { number, plan, findings } = progress;
  return `${number}. ${describePlan(plan)}: ${findings.length === 0 ? paint.good('fine') : paint.bad(findings.map(({ text }) => text).join('; '))}`;
}

async function workloadOf(file: string): Promise<Workload> {
  let content: unknown;
  try {
    content = parse(await readFile(file, 'utf8'));
  } catch (cause) {
    throw new OperatorError({
      code: 'Workload',
      message: `the workload ${file} cannot be read: ${yamlFault(cause)}`,
      nextStep: 'Give a YAML file with setup and steps; docs/testing-operators.md has one.',
      exitCode: 2,
      cause,
    });
  }
  return readWorkload(content);
}

function planOf(text: string): Plan {
  let content: unknown;
  try {
    content = JSON.parse(text);
  } catch {
    throw misuse('the plan is not JSON', 'Copy it from the line "Again" of a finding, in quotes.');
  }
  return readPlan(content);
}

/** A repetition has its own plan, and writes no page over that of another finding. */
const NOT_REPEATED = ['--plan', '--html'] as const;

/** The flags of a repetition: as given, without those that belong to one exploration. */
export function flagsOf(argv: readonly string[], words: readonly string[]): readonly string[] {
  const flags = argv.slice(0, argv.length - words.length).filter((each) => each !== '--');
  const belongs = (flag: string, before: string | undefined): boolean =>
    NOT_REPEATED.some((name) => flag === name || before === name || flag.startsWith(`${name}=`));
  return flags.filter((flag, i) => !belongs(flag, flags[i - 1]));
}

const commandLine = (words: readonly string[]): string =>
  `holdfast ${words.map((word) => (/^[\w./:=@%+,-]+$/.test(word) ? word : `'${word.replaceAll("'", `'\\''`)}'`)).join(' ')}`;
