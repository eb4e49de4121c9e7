import type { Json } from '@holdfast/machinery';
import type { Remarks } from '../../audit/notes.ts';
import { reaches } from '../../audit/notes.ts';
import type { CompiledWebhook } from './compiled-webhooks.ts';

/** One call of a webhook: its name, its round, and its position among the called ones. */
export interface Invoked {
  readonly hook: CompiledWebhook;
  readonly round: 0 | 1;
  readonly index: number;
}

/** The annotations that Kubernetes puts into the audit event of a request for the webhooks that it met. */
export function noteLeftOut({ audit }: Remarks, { hook, round, index }: Invoked): void {
  const type = hook.isMutating ? 'mutation' : 'validating';
  audit?.annotate(`failed-open.${type}.webhook.admission.k8s.io/round_${round}_index_${index}`, hook.webhook.name);
}

export function noteMutation({ audit }: Remarks, { hook, round, index }: Invoked, mutated: boolean): void {
  if (audit === undefined) return;
  const place = `round_${round}_index_${index}`;
  audit.annotate(
    `mutation.webhook.admission.k8s.io/${place}`,
    JSON.stringify({ configuration: hook.configuration, webhook: hook.webhook.name, mutated }),
  );
}

export function notePatch({ audit }: Remarks, { hook, round, index }: Invoked, patch: Json): void {
  if (audit === undefined || !reaches(audit.level, 'Request')) return;
  const place = `round_${round}_index_${index}`;
  audit.annotate(
    `patch.webhook.admission.k8s.io/${place}`,
    JSON.stringify({ configuration: hook.configuration, webhook: hook.webhook.name, patch, patchType: 'JSONPatch' }),
  );
}
