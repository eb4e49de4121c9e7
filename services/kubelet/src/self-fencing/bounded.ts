import type { Clock } from '@holdfast/platform';

/** A missed deadline is a failure with an unknown outcome: the request may still take effect. */
export async function bounded<T>(clock: Clock, ms: number, answer: Promise<T>, who = 'the API'): Promise<T> {
  let expire: (error: Error) => void = () => {};
  const late = new Promise<never>((_, reject) => {
    expire = reject;
  });
  const timer = clock.timer(ms, () => expire(new Error(`${who} did not answer in ${ms} ms`)));
  try {
    return await Promise.race([answer, late]);
  } finally {
    timer.cancel();
  }
}
