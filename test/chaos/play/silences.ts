import type { Silence } from '../checkers/acknowledged.ts';
import { apiServersOf, type FormName, serviceOf, servicesOfZone } from '../support/compose-form.ts';
import type { PlayedStep } from './play.ts';

/** TCP sends again what was lost after a wait that doubles: as long after the end as the fault has lasted, and this more. */
const RESENT_MS = 5_000;

const SILENCING: ReadonlySet<string> = new Set(['pause', 'cut-master', 'zone-cut', 'lossy-link', 'narrow-link']);

/** When an API server could not answer whoever had asked it before. */
export function silencesOf(steps: readonly PlayedStep[], form: FormName, beganMs: number): readonly Silence[] {
  const servers = apiServersOf(form);
  return steps.flatMap(({ step, fromMs, toMs }) => {
    if (!SILENCING.has(step.do)) return [];
    const hit = step.do === 'zone-cut' ? servicesOfZone(step.target) : [serviceOf(step.target)];
    return servers.flatMap((server, index) =>
      hit.includes(server)
        ? [{ server: index, fromMs: beganMs + fromMs, toMs: beganMs + toMs + (toMs - fromMs) + RESENT_MS }]
        : [],
    );
  });
}
