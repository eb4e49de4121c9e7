import type { Event } from '@holdfast/api';
import { parseTime } from '@holdfast/platform/time';
import { withCauses } from './causes.ts';
import { type DraftLane, lanesOf, type Span } from './lanes.ts';
import { type Loss, lossesOf } from './losses.ts';
import type { Film, FilmMaterial, Remark } from './model.ts';
import { type Story, storyOf } from './tracks.ts';
import { heldVolumes, waitOf } from './waits.ts';

/** What is shown before a loss, and after the end of one that is over. */
const LEAD_MS = 3_000;
const TAIL_MS = 5_000;
/** So long after the return of a node its pods still belong to the film. */
const AFTER_RETURN_MS = 30_000;
const REMARKS_MAX = 100;

/** A film of each loss of a node, oldest first. It looks at nothing but its material. */
export function filmsOf(material: FilmMaterial, node?: string): readonly Film[] {
  const story = storyOf(material);
  return lossesOf(story, material)
    .filter((loss) => node === undefined || loss.node === node)
    .map((loss) => filmOf(material, story, loss));
}

function filmOf(material: FilmMaterial, story: Story, loss: Loss): Film {
  const horizon = Math.min(material.toMs, (loss.back?.atMs ?? Number.POSITIVE_INFINITY) + AFTER_RETURN_MS);
  const fromMs = Math.max(material.fromMs, loss.silent.atMs - LEAD_MS);
  const whole = { fromMs, toMs: Math.max(fromMs, horizon) };
  const waits =
    horizon === material.toMs ? waitsOf(material.events, story, loss, lanesOf(story, loss, whole).lanes) : [];
  const isOver = loss.back !== undefined && waits.length === 0;
  const span = isOver ? shortened(lanesOf(story, loss, whole).lanes, whole) : whole;
  const { lanes, left } = lanesOf(story, loss, span);
  const drawn = lanes.filter(({ steps }) => steps.length > 0);
  return {
    node: loss.node,
    lostMs: loss.silent.atMs,
    ...(loss.back === undefined ? {} : { backMs: loss.back.atMs }),
    ...span,
    lanes: withCauses(drawn, span.fromMs, relationOf(story)),
    left,
    remarks: remarksOf(material.events, drawn, span),
    waits,
  };
}

/** Ends soon after the last thing that happened. */
function shortened(lanes: readonly DraftLane[], span: Span): Span {
  const last = Math.max(span.fromMs, ...lanes.flatMap(({ steps }) => steps.map(({ fromMs }) => fromMs)));
  return { fromMs: span.fromMs, toMs: Math.min(span.toMs, last + TAIL_MS) };
}

/** The node concerns all lanes; a volume concerns the pods that use it. */
function relationOf(story: Story): (a: DraftLane, b: DraftLane) => boolean {
  const uses = (pod: DraftLane, volume: DraftLane): boolean => {
    const claims = (story.pods.get(pod.name) ?? []).flatMap(({ facts }) => facts?.claims ?? []);
    const namespace = pod.name.split('/', 1)[0] ?? '';
    const wanted = new Set(claims.map((claim) => `${namespace}/${claim}`));
    return (story.volumes.get(volume.name) ?? []).some(({ facts }) => facts !== undefined && wanted.has(facts.claim));
  };
  return (a, b) => {
    if (b.kind === 'node') return true;
    if (a.kind === 'pod' && b.kind === 'volume') return uses(a, b);
    return a.kind === 'volume' && b.kind === 'pod' && uses(b, a);
  };
}

function waitsOf(events: readonly Event[], story: Story, loss: Loss, lanes: readonly DraftLane[]): readonly string[] {
  return lanes.flatMap(({ kind, name }) => {
    if (kind !== 'pod') return [];
    const points = story.pods.get(name) ?? [];
    const pod = points.at(-1)?.facts;
    const last = points.findLast(({ facts }) => facts !== undefined)?.facts;
    const held = heldVolumes(story, name, pod);
    const warning = presentWarning(events, pod?.uid ?? '');
    return waitOf(loss, { name, pod, last, held, warning }) ?? [];
  });
}

/** The newest event of a pod, when it is a warning: an older one may be settled. */
function presentWarning(events: readonly Event[], uid: string): Event | undefined {
  const own = events.filter(({ involvedObject }) => uid !== '' && involvedObject.uid === uid);
  const newestMs = Math.max(...own.map(timeOf));
  const newest = own.filter((event) => timeOf(event) === newestMs);
  return newest.every(({ type }) => type === 'Warning') ? newest.at(-1) : undefined;
}

const timeOf = (event: Event): number =>
  parseTime(
    event.series?.lastObservedTime ?? event.lastTimestamp ?? event.eventTime ?? event.metadata.creationTimestamp ?? '',
  ) ?? 0;

const KINDS = { node: 'Node', pod: 'Pod', volume: 'PersistentVolume' } as const;

/** What components said about the lanes in this time; Events count whole seconds. */
function remarksOf(events: readonly Event[], lanes: readonly DraftLane[], { fromMs, toMs }: Span): readonly Remark[] {
  const known = new Map(lanes.map(({ kind, name }) => [`${KINDS[kind]} ${name}`, name]));
  const found = events.flatMap((event): readonly Remark[] => {
    const { kind = '', namespace, name = '' } = event.involvedObject;
    const about = known.get(`${kind} ${kind === 'Pod' ? `${namespace ?? ''}/` : ''}${name}`);
    const atMs = timeOf(event);
    if (about === undefined || atMs < fromMs - 1_000 || atMs > toMs) return [];
    return [{ atMs, about, reason: event.reason ?? '', message: event.message ?? '' }];
  });
  return found.sort((a, b) => a.atMs - b.atMs).slice(-REMARKS_MAX);
}
