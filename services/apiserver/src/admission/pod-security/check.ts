import type { Container, EphemeralContainer, ObjectMeta, PodSpec } from '@holdfast/api';

/** A pod, or what a workload would make a pod of. */
export interface Candidate {
  readonly metadata: Readonly<ObjectMeta> | undefined;
  readonly spec: Readonly<PodSpec>;
  /** The minor version of the rules. */
  readonly minor: number;
}

/** The violation and its position. */
export interface Violation {
  readonly reason: string;
  readonly detail: string;
}

/** One control of the Pod Security Standards. */
export interface Check {
  /** Checks speak in the order of their names. */
  readonly id: string;
  /** The minor version that brought it. */
  readonly since: number;
  /** A stricter control of the higher level that speaks in its place. */
  readonly replacedBy?: string;
  /** Says nothing about pods for Windows, from this minor version on (POD-12). */
  readonly notForWindowsSince?: number;
  readonly find: (candidate: Candidate) => Violation | undefined;
}

export type AnyContainer = Container | EphemeralContainer;

/** In the order of messages. */
export const containersOf = ({ spec }: Candidate): readonly AnyContainer[] => [
  ...(spec.initContainers ?? []),
  ...spec.containers,
  ...(spec.ephemeralContainers ?? []),
];

/** Names of the containers with something. */
export const namesWhere = (candidate: Candidate, test: (container: AnyContainer) => boolean): readonly string[] =>
  containersOf(candidate)
    .filter(test)
    .map(({ name }) => name);

export const quoted = (texts: Iterable<string>): string => [...texts].map((text) => `"${text}"`).join(', ');

export const sortedSet = (texts: Iterable<string>): readonly string[] => [...new Set(texts)].sort();

export const plural = (count: number, one: string, many: string): string => (count === 1 ? one : many);

/** `container "a"`, `containers "a", "b"` */
export const named = (names: readonly string[], one = 'container', many = 'containers'): string =>
  `${plural(names.length, one, many)} ${quoted(names)}`;

/** Lists the setters: `pod and containers "a", "b"`; '' when there are none. */
export function setters(pod: boolean, containers: readonly string[]): string {
  return [...(pod ? ['pod'] : []), ...(containers.length === 0 ? [] : [named(containers)])].join(' and ');
}
