import { countedAgainst } from '../../test/scenario/control.ts';
import { readScenario } from '../../test/scenario/files.ts';
import type { Scenario } from '../../test/scenario/model.ts';
import { planOf } from '../../test/scenario/plans.ts';
import { inWords } from '../../test/scenario/print.ts';
import { type BadEnd, runWorker } from './worker.ts';

export interface ReplayOptions {
  /** A scenario file. */
  readonly file: string;
  /** Where the timeline is written. */
  readonly html?: string | undefined;
  /** False: these sources cannot get a planted bug. Default: true. */
  readonly plants?: boolean;
  readonly say: (text: string) => void;
  /** Told once, for programs. */
  readonly document?: ((result: object) => void) | undefined;
}

/** One run in a process of its own. */
export interface Played {
  readonly violation?: { readonly rule: string; readonly story: string };
  readonly traceHash: string;
}

/** Plays a scenario file, and writes its timeline. Answers how the process ended where that was not in order. */
export async function playAlone(
  file: string,
  { planted, html = '' }: { readonly planted?: string | undefined; readonly html?: string | undefined },
): Promise<Played | BadEnd> {
  const lines: string[] = [];
  const end = await runWorker({ command: 'replay', args: [file, html], planted }, (line) => lines.push(line));
  return end ?? (JSON.parse(lines.join('')) as Played);
}

function unreadable(file: string, error: unknown): string {
  if (error instanceof Error && 'code' in error && error.code === 'ENOENT') {
    return `there is no file ${file}\n  Name a scenario file; docs/scenarios.md describes them.`;
  }
  return `${file}: ${error instanceof Error ? error.message : String(error)}`;
}

/** Plays a scenario file in a process of its own. Exit code 1: it breaks a rule. 2: it is no scenario. */
export async function replay({ file, html, plants = true, say, document }: ReplayOptions): Promise<number> {
  let scenario: Scenario;
  try {
    scenario = readScenario(file);
  } catch (error) {
    say(unreadable(file, error));
    return 2;
  }
  if (!plants && scenario.found?.planted !== undefined) {
    say(
      `${file} needs the planted bug ${scenario.found.planted}, which is in no package: play it in a checkout of Holdfast`,
    );
    return 2;
  }
  describe(scenario, say);
  const played = await playAlone(file, { planted: scenario.found?.planted, html });
  if ('why' in played) {
    say(`the process of the run ended: ${played.why}`);
    document?.({ event: 'played', scenario: scenario.name, holds: false, failure: played.why });
    return 1;
  }
  const { violation, traceHash } = played;
  const against = countedAgainst(scenario, violation === undefined ? [] : [violation.story]);
  const holds = against.length === 0;
  document?.({ event: 'played', scenario: scenario.name, holds, ...violation, trace: traceHash, html });
  say(violation === undefined ? 'no rule is broken' : `a rule is broken: ${violation.story}`);
  say(`trace ${traceHash}${comparedWith(scenario, traceHash)}`);
  if (html !== undefined) say(`timeline: ${html}`);
  if (violation === undefined) for (const each of against) say(each);
  return holds ? 0 : 1;
}

function describe(scenario: Scenario, say: (text: string) => void): void {
  say(scenario.name);
  // What the seed has drawn.
  for (const { target, ...step } of planOf(scenario).steps) say(`  ${inWords({ ...step, targets: [target] })}`);
  if (scenario.found?.planted !== undefined) say(`with the planted bug ${scenario.found.planted}`);
}

function comparedWith({ found }: Scenario, traceHash: string): string {
  if (found?.trace === undefined) return '';
  return found.trace === traceHash
    ? ': the same run as the one that was found, bit for bit'
    : ': the sources have changed since it was found, and this is its schedule on the new ones';
}
