import type { JobCondition } from '../generated/types.ts';

type Conditioned = { readonly status?: { readonly conditions?: readonly JobCondition[] } };

/** The condition by which a Job is over, of type `Complete` or `Failed`; undefined while it is not. */
export const jobEnd = ({ status }: Conditioned): JobCondition | undefined =>
  status?.conditions?.find(({ type, status: value }) => value === 'True' && (type === 'Complete' || type === 'Failed'));
