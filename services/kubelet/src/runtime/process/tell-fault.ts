/** Standard error of supervisor and watchdog is their log. */
export const tellFault =
  (what: string) =>
  (error: unknown): void =>
    void process.stderr.write(`${what}: ${String(error)}\n`);
