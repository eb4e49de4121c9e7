import type { ApiRequest } from '@holdfast/client';
import { StatusError } from '@holdfast/machinery';

/** In the words of Kubernetes. */
export const outOfTime = (): StatusError =>
  new StatusError({
    code: 504,
    reason: 'Timeout',
    message: 'Timeout: request did not complete within the allotted timeout',
    details: {},
  });

/** Before each write: the client was told that its time is over, and may have begun again. */
export function refuseLate({ isOver }: ApiRequest): void {
  if (isOver?.() === true) throw outOfTime();
}
