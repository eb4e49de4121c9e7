import { HORIZONTAL_POD_AUTOSCALERS, type HorizontalPodAutoscaler, type Scale } from '@holdfast/api';
import { StatusError } from '@holdfast/machinery';
import { describeError } from '@holdfast/platform';
import type { ControllerContext } from '../../common/context.ts';
import { isSame } from '../../common/hash.ts';
import { isConflict, unlessChanged } from '../../common/writes.ts';
import { type Decision, notRescaled, type Rescale, rescaled, type Written } from './decide.ts';
import type { Memory } from './memory.ts';
import type { ScaleRef } from './target.ts';

export interface Goal {
  readonly scaler: HorizontalPodAutoscaler;
  readonly target: { readonly ref: ScaleRef; readonly scale: Scale } | undefined;
  readonly decision: Decision;
}

/** The size is written against the revision that it was read at. `changed`: the target is another one by now, look again. */
export async function apply(context: ControllerContext, goal: Goal): Promise<Memory | undefined | 'changed'> {
  const { scaler, decision, target } = goal;
  const { rescale } = decision;
  const written =
    rescale === undefined || target === undefined
      ? decision
      : await writeScale(context, { scaler, decision, target }, rescale);
  if (written === 'changed') return written;
  for (const event of decision.events) context.events.event(scaler, event);
  if ('event' in written) context.events.event(scaler, written.event);
  await writeStatus(context, scaler, written.status);
  return written.memory;
}

async function writeScale(
  { client, clock }: ControllerContext,
  { scaler, decision, target }: Goal & { readonly target: NonNullable<Goal['target']> },
  rescale: Rescale,
): Promise<Written | 'changed'> {
  const { ref, scale } = target;
  const time = { now: clock.now(), monotonicMs: clock.monotonic() };
  try {
    await client.updateSubresource(ref, { ...scale, spec: { ...scale.spec, replicas: rescale.to } }, 'scale');
    return rescaled(decision, rescale, scaler, time);
  } catch (error) {
    if (isConflict(error)) return 'changed';
    const text = error instanceof StatusError ? error.message : describeError(error);
    return notRescaled(decision, rescale, scaler, { error: text, now: time.now });
  }
}

async function writeStatus(
  { client }: ControllerContext,
  scaler: HorizontalPodAutoscaler,
  status: HorizontalPodAutoscaler['status'],
): Promise<void> {
  if (isSame(scaler.status, status)) return;
  await unlessChanged(() => client.updateStatus(HORIZONTAL_POD_AUTOSCALERS, { ...scaler, status }));
}
