import type { Scenario } from '../../scenario/model.ts';
import type { Lane, Mark, Timeline } from '../../scenario/timeline/model.ts';
import { Recorder } from '../../scenario/timeline/recorder.ts';
import { renderTimeline } from '../../scenario/timeline/render.ts';
import type { Request } from '../clients/asking.ts';
import { lifeOf, type Sign } from '../losses/signs.ts';
import type { Outage } from './outages.ts';
import type { PlayedStep, Verdict } from './play.ts';

const CLIENTS = 'clients';
/** Failures of one API server that are closer to each other are one time without it. */
const WINDOW_MS = 1_000;
const SLOW_MS = 1_000;
const SHARES = [0.5, 0.99, 1] as const;

/** The run as one HTML file: the timeline of the simulator, and beside it what clients have seen. */
export function renderRun(scenario: Scenario, verdict: Omit<Verdict, 'html'>): string {
  const { load, requests, outages, broken } = verdict;
  const began = verdict.beganMonotonic;
  const recorded = record(scenario, verdict);
  const lanes = serverLanes(requests, began);
  const verdicts = broken.map((story) => ({ rule: story.split(':')[0] ?? '', story }));
  const facts = [
    ...recorded.facts,
    'Played on containers.',
    ...load.split('\n'),
    latencyOf(requests),
    ...outages.map(inWords),
  ];
  return renderTimeline({ ...recorded, facts, lanes: [...recorded.lanes, ...lanes], broken: verdicts });
}

const inWords = ({ kind, ms }: Outage): string => `${kind}: no write was acknowledged for ${(ms / 1000).toFixed(1)} s`;

/** In the times of the run: milliseconds after the workloads were up. */
function record(
  scenario: Scenario,
  { steps, signs, commits, beganAt, beganMonotonic, lengthMs }: Omit<Verdict, 'html'>,
): Timeline {
  const recorder = new Recorder(scenario);
  recorder.begins(0, []);
  const facts: { readonly atMs: number; readonly tell: () => void }[] = [
    ...steps.flatMap(({ step, fromMs, toMs }: PlayedStep) => [
      { atMs: fromMs, tell: () => recorder.step(fromMs, step) },
      { atMs: toMs, tell: () => recorder.stepOver(toMs, step) },
    ]),
    ...livesOf(signs).flatMap(({ first, last }) => {
      const [from, to] = [first.atMs - beganAt, last.atMs - beganAt];
      const fact = { node: first.node, namespace: 'default', podName: first.pod, podUid: first.uid, container: 'main' };
      return [
        { atMs: from, tell: () => recorder.process(from, { ...fact, kind: 'started' }) },
        ...(to < lengthMs - SLOW_MS
          ? [{ atMs: to, tell: () => recorder.process(to, { ...fact, kind: 'ended' }) }]
          : []),
      ];
    }),
    ...commits.map((commit) => {
      const atMs = commit.atMs - beganMonotonic;
      return { atMs, tell: () => recorder.commit(atMs, commit) };
    }),
  ];
  for (const { tell } of facts.toSorted((a, b) => a.atMs - b.atMs)) tell();
  recorder.healed(scenario.seconds * 1000);
  recorder.ends(lengthMs, undefined);
  return recorder.timeline();
}

interface LifeSigns {
  readonly first: Sign;
  last: Sign;
}

function livesOf(signs: readonly Sign[]): readonly LifeSigns[] {
  const lives = new Map<string, LifeSigns>();
  for (const sign of signs) {
    const life = lives.get(lifeOf(sign));
    if (life === undefined) lives.set(lifeOf(sign), { first: sign, last: sign });
    else life.last = sign;
  }
  return [...lives.values()];
}

/** Each API server as its clients see it: when it failed them, and slow answers. */
function serverLanes(requests: readonly Request[], beganMs: number): readonly Lane[] {
  const servers = [...new Set(requests.map(({ server }) => server))].toSorted((a, b) => a - b);
  return servers.map((server) => {
    const own = requests.filter((each) => each.server === server);
    const failed = own.filter(({ isFailed }) => isFailed === true);
    const slow = own.filter(({ beganMs: from, endedMs = from }) => endedMs - from >= SLOW_MS);
    const marks = slow.map(
      (each): Mark => ({
        atMs: each.beganMs - beganMs,
        kind: 'fact',
        text: `${each.what} took ${(((each.endedMs ?? 0) - each.beganMs) / 1000).toFixed(1)} s`,
      }),
    );
    const bars = windowsOf(failed).map(({ fromMs, toMs, count }) => ({
      fromMs: fromMs - beganMs,
      toMs: toMs - beganMs,
      kind: 'fault' as const,
      text: `${count} requests failed`,
    }));
    return { group: CLIENTS, name: `through apiserver-${server + 1}`, bars, marks };
  });
}

export interface Window {
  readonly fromMs: number;
  toMs: number;
  count: number;
}

/** The times in which requests failed. */
export function windowsOf(failed: readonly Request[]): readonly Window[] {
  const windows: Window[] = [];
  for (const { beganMs, endedMs = beganMs } of failed.toSorted((a, b) => a.beganMs - b.beganMs)) {
    const last = windows.at(-1);
    if (last === undefined || beganMs - last.toMs > WINDOW_MS)
      windows.push({ fromMs: beganMs, toMs: endedMs, count: 1 });
    else {
      last.toMs = Math.max(last.toMs, endedMs);
      last.count++;
    }
  }
  return windows;
}

/** `812 requests of clients: p50 12 ms, p99 300 ms, max 4.2 s; 3 times without an API server, together 6.1 s`. */
export function latencyOf(requests: readonly Request[]): string {
  if (requests.length === 0) return 'No clients.';
  const times = requests.map(({ beganMs, endedMs = beganMs }) => endedMs - beganMs).toSorted((a, b) => a - b);
  const [p50 = 0, p99 = 0, max = 0] = SHARES.map((share) => times[Math.max(0, Math.ceil(share * times.length) - 1)]);
  const windows = [...new Set(requests.map(({ server }) => server))].flatMap((server) =>
    windowsOf(requests.filter((each) => each.server === server && each.isFailed === true)),
  );
  const without = windows.reduce((sum, { fromMs, toMs }) => sum + toMs - fromMs, 0);
  const ms = (time: number): string => `${Math.round(time)} ms`;
  return `${requests.length} requests of clients: p50 ${ms(p50)}, p99 ${ms(p99)}, max ${ms(max)}; ${windows.length} times without an API server, together ${(without / 1000).toFixed(1)} s`;
}
