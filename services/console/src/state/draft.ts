/** What an apply sends. */
export interface Attempt {
  readonly text: string;
  /** Takes fields over from their owners. */
  readonly isForced: boolean;
}

export interface Outcome {
  /** What the server would store. */
  readonly yaml?: string;
  readonly failure?: string;
  /** Others own fields that were changed. */
  readonly isConflict?: boolean;
}

/** An edit that somebody makes, and the attempt whose outcome is known. */
export interface Draft extends Attempt {
  readonly tried?: { readonly attempt: Attempt; readonly outcome: Outcome };
}

export const typed = ({ isForced }: Draft, text: string): Draft => ({ text, isForced });

/** Taking fields over is another attempt; the refusal that names their owners stays to be read. */
export function forced({ text, tried }: Draft, isForced: boolean): Draft {
  const isRefused = tried?.outcome.isConflict === true;
  return { text, isForced, ...(isRefused ? { tried } : {}) };
}

/** The outcome of an attempt, which may come after the person has typed on: then nobody asks for it any more. */
export const answered = (draft: Draft, attempt: Attempt, outcome: Outcome): Draft =>
  draft.text === attempt.text && draft.isForced === attempt.isForced
    ? { ...attempt, tried: { attempt, outcome } }
    : draft;

/** What may be applied: exactly the attempt whose difference was shown. */
export const applicable = ({ tried }: Draft): Attempt | undefined =>
  tried?.outcome.yaml === undefined ? undefined : tried.attempt;
