import type { User } from '../authentication/identity.ts';

/** The annotation with the authorization decision. */
export const DECISION = 'authorization.k8s.io/decision';

/** The levels of audit.k8s.io/v1. */
export const AUDIT_LEVELS = ['None', 'Metadata', 'Request', 'RequestResponse'] as const;
export type AuditLevel = (typeof AUDIT_LEVELS)[number];

export const reaches = (level: AuditLevel, least: AuditLevel): boolean =>
  AUDIT_LEVELS.indexOf(level) >= AUDIT_LEVELS.indexOf(least);

/** Records of the pipeline's parts in a request's audit event. */
export interface AuditNotes {
  readonly level: AuditLevel;
  /** The last value of a key counts. */
  readonly annotate: (key: string, value: string) => void;
  /** The request is served as that of another user. */
  readonly actsAs: (user: User) => void;
  /** Records an unexpected error. */
  readonly failed: (fault: unknown) => void;
}

/** Additional output beside the response. */
export interface Remarks {
  /** Adds a `Warning: 299` header to the answer. */
  readonly warn: (text: string) => void;
  /** Absent: the request is not audited. */
  readonly audit: AuditNotes | undefined;
}
