import { CAUSES, type DraftLane, type DraftStep } from './lanes.ts';
import type { Lane, LaneKind, Step } from './model.ts';

interface Placed {
  readonly lane: DraftLane;
  readonly step: DraftStep;
}

const RANK: Readonly<Record<LaneKind, number>> = { node: 0, pod: 1, volume: 2 };

/** Numbers all steps in the order in which they began, and names the cause of each: a step with a lower number. */
export function withCauses(
  lanes: readonly DraftLane[],
  beginMs: number,
  related: (a: DraftLane, b: DraftLane) => boolean,
): readonly Lane[] {
  const placed = lanes
    .flatMap((lane) => lane.steps.map((step): Placed => ({ lane, step })))
    .sort(
      (a, b) =>
        a.step.fromMs - b.step.fromMs || a.step.revision - b.step.revision || RANK[a.lane.kind] - RANK[b.lane.kind],
    );
  const ids = new Map(placed.map(({ step }, id) => [step, id]));
  return lanes.map(({ kind, name, steps }, index) => ({
    kind,
    name,
    steps: steps.map((step) => {
      const id = ids.get(step) ?? 0;
      // What it was when the film begins has no cause in it.
      const isFirst = step === steps[0] && step.fromMs <= beginMs;
      const cause = isFirst
        ? undefined
        : causeOf(placed, id, (other) => other === lanes[index] || related(lanes[index] ?? other, other));
      return finished(step, id, cause);
    }),
  }));
}

function causeOf(placed: readonly Placed[], id: number, mayCount: (lane: DraftLane) => boolean): number | undefined {
  const self = placed[id];
  if (self === undefined) return undefined;
  const wanted: readonly string[] = CAUSES[self.step.kind] ?? [];
  const isCause = ({ lane, step }: Placed): boolean => wanted.includes(`${lane.kind} ${step.kind}`) && mayCount(lane);
  const before = placed.slice(0, id);
  const own = before.findLastIndex(({ lane }) => lane === self.lane);
  const other = before.findLastIndex((each) => each.lane !== self.lane && isCause(each));
  const found = Math.max(own, other);
  return found < 0 ? undefined : found;
}

function finished({ kind, name, fromMs, toMs, isOpen, by }: DraftStep, id: number, cause: number | undefined): Step {
  return {
    id,
    kind,
    name,
    fromMs,
    toMs,
    isOpen,
    ...(cause === undefined ? {} : { cause }),
    ...(by === undefined ? {} : { by }),
  };
}
