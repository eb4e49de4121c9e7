import { createReader, explain, type Finding } from '@holdfast/client/why';
import type { Api } from './api.ts';
import type { Kind } from './kinds.ts';
import { readingClientOf } from './reading-client.ts';

export interface WhyAsked {
  readonly kind: Kind;
  readonly namespace: string;
  readonly name: string;
  /** Milliseconds since the epoch; the moment that is shown. */
  readonly now: number;
  /** A moment of the past; empty: now. */
  readonly at: string;
}

/** What an object waits for, as `holdfast why` says it. Undefined for one that is not there. */
export async function readWhy(api: Api, { kind, namespace, name, now, at }: WhyAsked): Promise<Finding | undefined> {
  const { group, version, plural } = kind;
  const resource = { group, version, plural, kind: kind.kind, namespaced: kind.isNamespaced };
  const target = namespace === '' ? { name } : { namespace, name };
  const finding = await explain({ resource, target }, createReader(readingClientOf(api, at)), now);
  return typeof finding === 'string' ? undefined : finding;
}
