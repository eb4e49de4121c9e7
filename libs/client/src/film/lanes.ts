import type { PodFacts, VolumeFacts } from './facts.ts';
import type { Loss, Mark } from './losses.ts';
import type { LaneKind, StepKind } from './model.ts';
import { nodeState, podState, type State, volumeState } from './states.ts';
import type { Point, Story, Tracks } from './tracks.ts';

/** A step that does not know its cause yet. */
export interface DraftStep extends State {
  readonly fromMs: number;
  readonly toMs: number;
  /** Its place among all changes. */
  readonly revision: number;
  readonly isOpen: boolean;
  readonly by?: string;
}

export interface DraftLane {
  readonly kind: LaneKind;
  readonly name: string;
  readonly steps: readonly DraftStep[];
}

export interface Span {
  readonly fromMs: number;
  readonly toMs: number;
}

/** One more would make a page that nobody reads. */
export const PODS_MAX = 60;

/** The lanes of a loss: the node, the pods that it had, and their volumes. */
export function lanesOf(
  story: Story,
  loss: Loss,
  span: Span,
): { readonly lanes: readonly DraftLane[]; readonly left: number } {
  const marks = marksOf(loss);
  const names = podsOf(story.pods, loss, span);
  const shown = names.slice(0, PODS_MAX);
  const claims = new Set(shown.flatMap((name) => claimsOf(name, story.pods.get(name) ?? [])));
  const node: DraftLane = {
    kind: 'node',
    name: loss.node,
    steps: stepsOf(marks, span, ({ revision }) => nodeState(loss, revision)),
  };
  const pods = shown.map((name): DraftLane => {
    const moments = joined(marks, story.pods.get(name) ?? []);
    return {
      kind: 'pod',
      name,
      steps: stepsOf(moments, span, (moment) => podState(loss, moment.facts, moment)),
    };
  });
  const volumes = [...story.volumes].filter(([, points]) => isTouched(points, loss, span, claims));
  const ofVolumes = volumes.map(
    ([name, points]): DraftLane => ({
      kind: 'volume',
      name,
      steps: stepsOf(points, span, ({ facts }) => volumeState(loss, facts)),
    }),
  );
  return { lanes: [node, ...pods, ...ofVolumes], left: names.length - shown.length };
}

const marksOf = (loss: Loss): readonly Mark[] => {
  const { silent, lost, broken, fencing, fenced, declared, heard, back } = loss;
  const marks = [
    { atMs: Number.NEGATIVE_INFINITY, revision: -1 },
    silent,
    lost,
    broken,
    fencing,
    fenced,
    declared,
    heard,
    back,
  ];
  return marks.filter((mark) => mark !== undefined).sort((a, b) => a.revision - b.revision);
};

/** Pods that the node had when it was lost, or that were bound to it during the loss; exclusive ones first. */
function podsOf(pods: Tracks<PodFacts>, loss: Loss, span: Span): readonly string[] {
  const found = [...pods].flatMap(([name, points]) => {
    const own = during(points, loss.silent, span).filter(({ facts }) => facts?.node === loss.node);
    return own.length === 0 ? [] : [{ name, rank: own.some(({ facts }) => facts?.isExclusive === true) ? 0 : 1 }];
  });
  return found.sort((a, b) => a.rank - b.rank || (a.name < b.name ? -1 : 1)).map(({ name }) => name);
}

/** The state at the loss, and every later one. */
function during<F>(points: readonly Point<F>[], { revision }: Mark, { toMs }: Span): readonly Point<F>[] {
  const first = Math.max(
    0,
    points.findLastIndex((point) => point.revision <= revision),
  );
  return points.slice(first).filter(({ atMs }) => atMs <= toMs);
}

const claimsOf = (pod: string, points: readonly Point<PodFacts>[]): readonly string[] => {
  const namespace = pod.split('/', 1)[0] ?? '';
  return points.flatMap(({ facts }) => facts?.claims ?? []).map((claim) => `${namespace}/${claim}`);
};

/** A volume of a pod that is shown, which was attached to a node at all. */
function isTouched(
  points: readonly Point<VolumeFacts>[],
  loss: Loss,
  span: Span,
  claims: ReadonlySet<string>,
): boolean {
  const seen = during(points, loss.silent, span);
  const isOwn = seen.some(({ facts }) => facts !== undefined && claims.has(facts.claim));
  return isOwn ? seen.some(({ facts }) => (facts?.node ?? '') !== '') : false;
}

interface Moment<F> extends Mark {
  readonly facts: F | undefined;
}

/** The marks of the loss between the changes of an object, each with what was true of the object then. */
function joined<F>(marks: readonly Mark[], points: readonly Point<F>[]): readonly Moment<F>[] {
  const at = ({ revision }: Mark): F | undefined => points.findLast((point) => point.revision <= revision)?.facts;
  const between = marks.filter(({ revision }) => revision > (points[0]?.revision ?? 0));
  // A change that is itself a mark of the loss is one moment.
  const own = new Set(points.map(({ revision }) => revision));
  const added = between
    .filter(({ revision }) => !own.has(revision))
    .map((mark) => ({ ...withoutAuthor(mark), facts: at(mark) }));
  return [...points, ...added].sort((a, b) => a.revision - b.revision);
}

/** The author of the mark wrote another object. */
const withoutAuthor = ({ atMs, revision }: Mark): Mark => ({ atMs, revision });

/** One step for each time that the state differs; a state that lasted no time is kept, because it happened. */
function stepsOf<M extends Mark>(
  moments: readonly M[],
  span: Span,
  stateOf: (moment: M) => State,
): readonly DraftStep[] {
  const steps: DraftStep[] = [];
  for (const moment of moments) {
    if (moment.atMs > span.toMs) break;
    const { kind, name } = stateOf(moment);
    const last = steps.at(-1);
    if (last?.name === name) continue;
    const atMs = Math.max(moment.atMs, span.fromMs);
    if (last !== undefined) steps[steps.length - 1] = { ...last, toMs: atMs, isOpen: false };
    const by = moment.by === undefined ? {} : { by: moment.by };
    steps.push({ kind, name, fromMs: atMs, toMs: span.toMs, isOpen: true, revision: moment.revision, ...by });
  }
  // What was over when the film begins is no part of it.
  const isBefore = (step: DraftStep): boolean => step.toMs <= span.fromMs && !step.isOpen;
  return steps.filter((step) => !isBefore(step));
}

/** What may bring about a step of this kind, apart from the step before it in its lane: the latest counts. */
export const CAUSES: Readonly<Partial<Record<StepKind, readonly `${LaneKind} ${StepKind}`[]>>> = {
  unknown: ['node silent', 'node lost'],
  leaving: ['node lost', 'node fenced', 'node fencing', 'node returned', 'node heard'],
  ended: ['node fenced', 'node returned'],
  absent: ['node fenced', 'node returned', 'node heard'],
  runs: ['volume moved', 'volume attached', 'node returned', 'node heard'],
  free: ['pod absent', 'node fenced'],
  moved: ['pod starts', 'volume free'],
  attached: ['pod starts', 'volume free'],
};
