/** `warning`: a cluster starts, but something will not work as well as it could. `problem`: it does not start, or loses data. */
export type Verdict = 'ok' | 'warning' | 'problem';

export interface Finding {
  readonly check: string;
  readonly verdict: Verdict;
  readonly message: string;
  /** What to do. Absent when nothing is to be done. */
  readonly nextStep?: string;
}

export type Judgement = Omit<Finding, 'check'>;

export const ok = (message: string): Judgement => ({ verdict: 'ok', message });

export const warning = (message: string, nextStep: string): Judgement => ({ verdict: 'warning', message, nextStep });

export const problem = (message: string, nextStep: string): Judgement => ({ verdict: 'problem', message, nextStep });
