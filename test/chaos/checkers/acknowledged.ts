/** `unknown`: it may have happened. `refused`: it has not. */
export type Outcome = 'acknowledged' | 'unknown' | 'refused';

/** Objects that were created once each, against those that are stored at the end. */
export function brokenCreates(created: ReadonlyMap<string, Outcome>, stored: ReadonlySet<string>): readonly string[] {
  const lost = [...created].filter(([name, outcome]) => outcome === 'acknowledged' && !stored.has(name));
  const risen = [...created].filter(([name, outcome]) => outcome === 'refused' && stored.has(name));
  const strange = [...stored].filter((name) => !created.has(name));
  return [
    ...lost.map(([name]) => `${name} was acknowledged, and is not stored`),
    ...risen.map(([name]) => `${name} was refused, and is stored`),
    ...strange.map((name) => `${name} is stored, and nobody has asked for it`),
  ];
}

export interface Increment {
  readonly outcome: Outcome;
  /** What it has counted to. */
  readonly to: number;
}

/** One object counts: each increment is by one, and no two have counted to the same number. */
export function brokenCounter(increments: readonly Increment[], stored: number): readonly string[] {
  const count = (outcome: Outcome): number => increments.filter((each) => each.outcome === outcome).length;
  const [least, most] = [count('acknowledged'), count('acknowledged') + count('unknown')];
  const told = increments.flatMap(({ outcome, to }) => (outcome === 'acknowledged' ? [to] : []));
  const twice = told.find((to, index) => told.indexOf(to) !== index);
  return [
    ...(stored >= least && stored <= most
      ? []
      : [`the counter is ${stored}; ${least} increments were acknowledged, and ${most - least} are unknown`]),
    ...(twice === undefined ? [] : [`two increments to ${twice} were acknowledged`]),
  ];
}

/** The time for which a client could believe that it holds a lease. */
export interface Hold {
  readonly holder: string;
  /** The revision of the lease with which it began: the number that a guarded resource would ask for. */
  readonly token: number;
  readonly fromMs: number;
  /** Before it asked to give it back. */
  readonly toMs: number;
}

/** One holder at a time, and the tokens grow with the time. */
export function brokenHolds(holds: readonly Hold[]): readonly string[] {
  const inOrder = holds.toSorted((a, b) => a.fromMs - b.fromMs);
  return inOrder.slice(1).flatMap((later, index) => {
    const earlier = inOrder[index];
    if (earlier === undefined) return [];
    const names = `${later.holder} (token ${later.token}) and ${earlier.holder} (token ${earlier.token})`;
    if (later.fromMs < earlier.toMs) return [`${names} held the lease at the same time`];
    return later.token <= earlier.token ? [`${names} held the lease with tokens that do not grow`] : [];
  });
}

export interface Asked {
  readonly what: string;
  /** The number of the API server that was asked, where that counts. */
  readonly server?: number;
  readonly beganMs: number;
  /** Absent: it has not ended yet. */
  readonly endedMs?: number;
}

export const ANSWER_MAX_MS = 60_000;

/** A time in which an API server could not answer, because it was paused or cut off. */
export interface Silence {
  readonly server: number;
  readonly fromMs: number;
  readonly toMs: number;
}

/** Every request ends, with whatever answer. The time in which its server could not answer does not count. */
export function hangingRequests(
  requests: readonly Asked[],
  nowMs: number,
  silences: readonly Silence[] = [],
): readonly string[] {
  const waited = ({ beganMs, endedMs = nowMs, server }: Asked): number =>
    endedMs -
    beganMs -
    silences
      .filter((silence) => silence.server === server)
      .reduce((sum, { fromMs, toMs }) => sum + Math.max(0, Math.min(toMs, endedMs) - Math.max(fromMs, beganMs)), 0);
  return requests
    .filter((request) => waited(request) > ANSWER_MAX_MS)
    .map(({ what, beganMs, endedMs }) => {
      const seconds = (((endedMs ?? nowMs) - beganMs) / 1000).toFixed(1);
      return `${what} ${endedMs === undefined ? 'has not ended after' : 'took'} ${seconds} s`;
    });
}
