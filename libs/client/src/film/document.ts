import { formatMicroTime } from '@holdfast/platform/time';
import type { Film, Lane, Step } from './model.ts';

/** A film for programs: times as in the API, durations in milliseconds. */
export const documentOf = ({ node, lostMs, backMs, fromMs, toMs, lanes, left, remarks, waits }: Film): unknown => ({
  node,
  lost: formatMicroTime(lostMs),
  back: backMs === undefined ? null : formatMicroTime(backMs),
  from: formatMicroTime(fromMs),
  to: formatMicroTime(toMs),
  lanes: lanes.map(laneDocument),
  podsLeftOut: left,
  remarks: remarks.map(({ atMs, ...rest }) => ({ time: formatMicroTime(atMs), ...rest })),
  waits,
});

const laneDocument = ({ kind, name, steps }: Lane): unknown => ({ kind, name, steps: steps.map(stepDocument) });

const stepDocument = ({ id, kind, name, fromMs, toMs, isOpen, cause, by }: Step): unknown => ({
  id,
  kind,
  name,
  from: formatMicroTime(fromMs),
  to: isOpen ? null : formatMicroTime(toMs),
  durationMs: toMs - fromMs,
  cause: cause ?? null,
  by: by ?? null,
});
