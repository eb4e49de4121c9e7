import { existsSync, readFileSync } from 'node:fs';
import type { Clock } from '@holdfast/platform';
import { parse } from 'yaml';
import { type ClusterHome, type ClusterRecord, contextOf } from './cluster-home.ts';
import { MadeKubeconfigs } from './made-kubeconfigs.ts';
import { mergeContext } from './user-kubeconfig.ts';

interface OwnKubeconfig {
  readonly clusters: readonly [{ readonly cluster: object }];
  readonly users: readonly [{ readonly user: object }];
}

/** Puts the context of the cluster into this kubeconfig, and into those that have it from an earlier start. */
export async function shareContext(
  home: ClusterHome,
  record: ClusterRecord,
  wish: { readonly file: string | undefined; readonly makeCurrent: boolean; readonly clock: Clock },
): Promise<ClusterRecord> {
  // Our own server wrote this file.
  const { clusters, users }: OwnKubeconfig = parse(readFileSync(home.kubeconfig, 'utf8'));
  const entry = { name: contextOf(home.name), cluster: clusters[0].cluster, user: users[0].user };
  const files = new Set([...record.mergedInto, ...(wish.file === undefined ? [] : [wish.file])]);
  // Recorded first: what is written twice is harmless, what nobody knows of stays for ever.
  const shared = { ...record, mergedInto: [...files] };
  home.write(shared);
  for (const file of files) {
    const makeCurrent = wish.makeCurrent && file === wish.file;
    if (!existsSync(file)) new MadeKubeconfigs(home).note(file);
    await mergeContext(file, entry, { clock: wish.clock, makeCurrent });
  }
  return shared;
}
