/** Long work in steps. The caller may run other work between two steps. */
export type Steps<T> = Generator<void, T, void>;

/** Runs all steps without a pause. */
export function runSteps<T>(steps: Steps<T>): T {
  for (;;) {
    const step = steps.next();
    if (step.done === true) return step.value;
  }
}
