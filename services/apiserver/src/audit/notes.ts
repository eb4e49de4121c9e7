import type { User } from '../authentication/identity.ts';

/** The annotation of an event that says whether the request was allowed. */
export const DECISION = 'authorization.k8s.io/decision';

/** How much an audit event says, as in audit.k8s.io/v1. */
export const AUDIT_LEVELS = ['None', 'Metadata', 'Request', 'RequestResponse'] as const;
export type AuditLevel = (typeof AUDIT_LEVELS)[number];

export const reaches = (level: AuditLevel, least: AuditLevel): boolean =>
  AUDIT_LEVELS.indexOf(level) >= AUDIT_LEVELS.indexOf(least);

/** What the parts of the pipeline add to the audit event of a request. */
export interface AuditNotes {
  readonly level: AuditLevel;
  /** The value that was set last for a key counts: admission runs again for every attempt of a write. */
  readonly annotate: (key: string, value: string) => void;
  /** The request is served as that of another user. */
  readonly actsAs: (user: User) => void;
  /** Something went wrong that nobody foresaw. */
  readonly failed: (fault: unknown) => void;
}

/** What is told about a request besides its answer. */
export interface Remarks {
  /** Adds a `Warning: 299` header to the answer. */
  readonly warn: (text: string) => void;
  /** Absent: the request is not audited. */
  readonly audit: AuditNotes | undefined;
}
