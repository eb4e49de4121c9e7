import type { MarkedProcess, ProcessIdentity } from './process-table.ts';

/** What makes a process one of a container, besides the container's id in its environment. */
export interface MemberTraits {
  readonly id: string;
  /** First process of the container. Undefined: its number may be somebody else's by now. */
  readonly leader: Pick<ProcessIdentity, 'pid' | 'startTicks'> | undefined;
  /** Members seen earlier, as `memberKey`: whatever they have made of themselves, they still belong to the container. */
  readonly known: ReadonlySet<string>;
  /** Ids of other containers of this node. An unknown id was made up by the process. */
  readonly isOther: (marker: string) => boolean;
}

/** Safe against reuse of the number. */
export const memberKey = ({ pid, startTicks }: Pick<MarkedProcess, 'pid' | 'startTicks'>): string =>
  `${pid}/${startTicks}`;

/**
 * The members in one reading of the table: a process can change its environment and leave its session, but not its
 * parents while they live. The own process is never a member, nor is what began as a part of another container.
 */
export function membersIn(entries: readonly MarkedProcess[], traits: MemberTraits): readonly MarkedProcess[] {
  const { id, known } = traits;
  const leader = presentLeader(entries, traits.leader);
  // A process can give itself the id of another container: that makes no stranger of one that is known.
  const isCertain = (entry: MarkedProcess): boolean =>
    entry.marker === id || known.has(memberKey(entry)) || isSame(entry, traits.leader);
  const own = entries.filter(
    (entry) => entry.pid !== process.pid && (isCertain(entry) || !traits.isOther(entry.marker)),
  );
  const isMember = (entry: MarkedProcess): boolean =>
    isCertain(entry) || entry.group === leader || entry.session === leader;
  const members = new Set(own.filter(isMember).map(({ pid }) => pid));
  for (let size = -1; size !== members.size; ) {
    size = members.size;
    // The number of a session is that of its first process.
    for (const { pid, parent, session } of own) if (members.has(parent) || members.has(session)) members.add(pid);
  }
  return own.filter(({ pid }) => members.has(pid));
}

const isSame = ({ pid, startTicks }: MarkedProcess, other: MemberTraits['leader']): boolean =>
  other?.pid === pid && other.startTicks === startTicks;

/** Its number, unless a later process has got it: then group and session of that number are not ours. */
function presentLeader(entries: readonly MarkedProcess[], leader: MemberTraits['leader']): number | undefined {
  const holder = entries.find(({ pid }) => pid === leader?.pid);
  return holder === undefined || holder.startTicks === leader?.startTicks ? leader?.pid : undefined;
}
