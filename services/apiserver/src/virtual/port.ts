import type { ApiResponse } from '@holdfast/client';
import type { Core } from '../core.ts';
import type { ResourceContext } from '../http/context.ts';

export type VirtualHandler = (core: Core, context: ResourceContext) => Promise<ApiResponse>;

/** A resource that answers and is never stored: reviews, bindings, component statuses. */
export interface VirtualResource {
  readonly group: string;
  readonly version: string;
  readonly kind: string;
  readonly plural: string;
  readonly singular: string;
  readonly namespaced: boolean;
  readonly shortNames?: readonly string[];
  /** By request verb; other verbs get 405. */
  readonly verbs: Readonly<Partial<Record<'create' | 'get' | 'list', VirtualHandler>>>;
}
