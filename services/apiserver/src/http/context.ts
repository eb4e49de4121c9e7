import type { ApiRequest } from '@holdfast/client';
import type { AuditNotes } from '../audit/notes.ts';
import type { User } from '../authentication/identity.ts';
import type { Representation } from './negotiation.ts';
import type { ResourceRequest } from './request-info.ts';

/** One request to a resource, after authentication, authorization and routing. */
export interface ResourceContext {
  readonly request: ApiRequest;
  readonly info: ResourceRequest;
  readonly user: User;
  readonly representation: Representation;
  /** Adds a `Warning: 299` header to the answer. */
  readonly warn: (text: string) => void;
  /** Absent: the request is not audited. */
  readonly audit: AuditNotes | undefined;
}
