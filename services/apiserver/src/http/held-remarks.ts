import type { AuditNotes } from '../audit/notes.ts';
import type { ResourceContext } from './context.ts';

export interface HeldRemarks {
  readonly context: ResourceContext;
  /** Passes on what was remarked so far. */
  readonly tell: () => void;
}

/** Holds the warnings and audit annotations of an attempt until it is known to count. */
export function holdRemarks(whole: ResourceContext): HeldRemarks {
  const held: (() => void)[] = [];
  const context: ResourceContext = {
    ...whole,
    warn: (text) => void held.push(() => whole.warn(text)),
    audit: whole.audit === undefined ? undefined : holdAnnotations(whole.audit, held),
  };
  return {
    context,
    tell: () => {
      for (const remark of held.splice(0)) remark();
    },
  };
}

const holdAnnotations = (audit: AuditNotes, held: (() => void)[]): AuditNotes => ({
  level: audit.level,
  annotate: (key, value) => void held.push(() => audit.annotate(key, value)),
  actsAs: (user) => audit.actsAs(user),
  failed: (fault) => audit.failed(fault),
});
