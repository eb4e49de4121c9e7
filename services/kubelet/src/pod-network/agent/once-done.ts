/** Work that is done once. Calls share one attempt; after a failed one, the next call tries again. */
export function onceDone<A>(work: (argument: A) => Promise<void>): (argument: A) => Promise<void> {
  let done: Promise<void> | undefined;
  return async (argument) => {
    const attempt = (done ??= work(argument));
    try {
      await attempt;
    } catch (error) {
      if (done === attempt) done = undefined;
      throw error;
    }
  };
}
