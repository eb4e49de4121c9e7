/** Long work in steps: whoever runs it may let others work between two of them. */
export type Steps<T> = Generator<void, T, void>;

/** All steps at once. */
export function runSteps<T>(steps: Steps<T>): T {
  for (;;) {
    const step = steps.next();
    if (step.done === true) return step.value;
  }
}
