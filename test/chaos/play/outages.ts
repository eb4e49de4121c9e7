import { isFault } from '../../sim/hunt/kinds.ts';
import type { Step } from '../../sim/hunt/plan.ts';
import type { PatientClients } from '../clients/patient-clients.ts';
import type { PlayedStep } from './play.ts';

const SOON_AFTER_MS = 5_000;

/** The longest time without an acknowledged write while a fault lasted, or soon after its end. */
export interface Outage {
  readonly kind: Step['do'];
  readonly ms: number;
}

export function outagesOf(
  steps: readonly PlayedStep[],
  run: { readonly patient: PatientClients; readonly beganMs: number; readonly nowMs: number },
): readonly Outage[] {
  return steps
    .filter(({ step }) => isFault(step.do))
    .map(({ step, fromMs, toMs }) => {
      const to = Math.min(run.beganMs + toMs + SOON_AFTER_MS, run.nowMs);
      return { kind: step.do, ms: run.patient.longestWithout(run.beganMs + fromMs, to) };
    });
}
