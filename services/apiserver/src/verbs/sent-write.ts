import type { WriteResult } from '@holdfast/store';

/** Whether a write that fails may be applied all the same. */
export interface SentWrite {
  mayBeApplied: boolean;
}

/** A write that found another state was not applied. After an error it may be. */
export async function noteFate(sent: SentWrite | undefined, write: () => Promise<WriteResult>): Promise<WriteResult> {
  if (sent === undefined) return write();
  sent.mayBeApplied = true;
  const result = await write();
  sent.mayBeApplied = result.outcome === 'committed';
  return result;
}
