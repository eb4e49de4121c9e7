import { StatusError } from '@holdfast/machinery';
import type { LensKind } from '../kind.ts';

export interface WebhookDownSettings {
  /** Default `policy.example.com`. */
  readonly webhook?: string;
}

export const WEBHOOK_DOWN: LensKind<WebhookDownSettings> = {
  summary: 'Writes fail with 500 because an admission webhook does not answer',
  isView: false,
  verbs: ['create', 'update', 'patch', 'delete'],
  settings: { webhook: { type: 'string', description: 'The name in the message; default policy.example.com.' } },
  open: ({ webhook = 'policy.example.com' }, { onHit }) => ({
    handle: async (asked) => {
      await onHit(asked);
      const cause = `failed calling webhook "${webhook}": failed to call webhook: connection refused`;
      throw new StatusError({
        code: 500,
        reason: 'InternalError',
        message: `Internal error occurred: ${cause}`,
        details: { causes: [{ message: cause }] },
      });
    },
  }),
};
