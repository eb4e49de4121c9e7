import type { Api } from './api.ts';

const ROOT = '/holdfast.io/play/v1';

export interface PlayTarget {
  readonly name: string;
  readonly kind: 'node' | 'master';
}

/** A fault that can begin, as scenario files name it. */
export interface FaultKind {
  readonly do: string;
  readonly targets: 'node' | 'master' | 'process' | 'none';
  readonly says: string;
  readonly value?: 'delay' | 'loss';
}

/** A fault that lasts. */
export interface Fault {
  readonly id: string;
  readonly do: string;
  readonly target?: string;
  readonly begunAt: string;
  readonly endsAt?: string;
}

/** The clock of the cluster. A virtual one stands still until it is advanced. */
export interface PlayClock {
  readonly kind: 'real' | 'virtual';
  readonly now: string;
}

export interface Play {
  readonly clock: PlayClock;
  readonly targets: readonly PlayTarget[];
  readonly kinds: readonly FaultKind[];
  readonly faults: readonly Fault[];
}

export interface Step {
  readonly do: string;
  readonly target: string;
  readonly lasts: string;
  readonly value: string;
}

export const readPlay = (api: Api): Promise<Play> => api.json<Play>(ROOT);

export const begin = (api: Api, step: object): Promise<Fault> =>
  api.json<Fault>(`${ROOT}/faults`, {
    method: 'POST',
    body: JSON.stringify(step),
    contentType: 'application/json',
  });

/** Without an id: all of them. */
export const end = (api: Api, id = ''): Promise<unknown> =>
  api.json(`${ROOT}/faults${id === '' ? '' : `/${encodeURIComponent(id)}`}`, { method: 'DELETE' });

/** Lets this much time pass, such as `5m`. Resolves when everything that it brought about has happened. */
export const advance = (api: Api, duration: string): Promise<unknown> =>
  api.json(`${ROOT}/advance`, {
    method: 'POST',
    body: JSON.stringify({ duration: duration.trim() }),
    contentType: 'application/json',
  });

export const targetsOf = ({ targets }: FaultKind, all: readonly PlayTarget[]): readonly PlayTarget[] =>
  targets === 'none' ? [] : all.filter(({ kind }) => targets === 'process' || targets === kind);

/** The step of a scenario file, without `at`. Empty fields are left out: the server names what is missing. */
export function stepOf(kind: FaultKind, { target, lasts, value }: Step): object {
  return {
    do: kind.do,
    ...(kind.targets === 'none' ? {} : { target }),
    ...(lasts === '' ? {} : { for: lasts }),
    ...(kind.value === undefined ? {} : { [kind.value]: kind.value === 'loss' ? Number(value) : value }),
  };
}

/** `node-1 loses its network`; the value is a field of its own. */
export const sentenceOf = ({ says, value }: FaultKind, target: string): string =>
  says.replace('{target}', () => target).replace('{value}', () => (value === 'delay' ? 'the delay' : 'a share'));
