import type { ResourceDefinition } from '@holdfast/api';
import type { ApiResponse } from '@holdfast/client';
import type { Core } from '../core.ts';
import type { ResourceContext } from '../http/context.ts';

export type Handler = (core: Core, context: ResourceContext, definition: ResourceDefinition) => Promise<ApiResponse>;

/** A subresource with its own body or behaviour. */
export interface Subresource {
  readonly name: string;
  readonly servedBy: (definition: ResourceDefinition) => boolean;
  /** By request verb; other verbs get 405. */
  readonly verbs: Readonly<Partial<Record<string, Handler>>>;
  /** The body's kind in discovery, when it is not the parent's. */
  readonly body?: { readonly group: string; readonly version: string; readonly kind: string };
}
