import type { ApiResponse } from '@holdfast/client';
import type { Core } from '../core.ts';
import type { ResourceContext } from '../http/context.ts';

/** A resource that answers and is never stored: reviews, bindings. */
export interface VirtualResource {
  readonly group: string;
  readonly version: string;
  readonly kind: string;
  readonly plural: string;
  readonly singular: string;
  readonly namespaced: boolean;
  readonly create: (core: Core, context: ResourceContext) => Promise<ApiResponse>;
}
