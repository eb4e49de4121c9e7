import type { JobCondition } from '../generated/types.ts';

type Conditioned = { readonly status?: { readonly conditions?: readonly JobCondition[] } };

/** Returns the terminal condition of a Job, of type `Complete` or `Failed`; `undefined` while it runs. */
export const jobEnd = ({ status }: Conditioned): JobCondition | undefined =>
  status?.conditions?.find(({ type, status: value }) => value === 'True' && (type === 'Complete' || type === 'Failed'));
