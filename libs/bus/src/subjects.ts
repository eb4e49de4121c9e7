/** Every subject name is built here, so that permissions, publishers and consumers cannot drift apart. */

const ROOT = 'k8s.ev';

/** `{rev, floor}` every few seconds: lets a consumer of a quiet channel know that it missed nothing. */
export const HEARTBEAT_SUBJECT = `${ROOT}.sys.hb`;

/** What decides the subject of a change. */
export interface SubjectOf {
  readonly group: string;
  readonly resource: string;
  readonly namespace: string;
  readonly name: string;
  /** Pods only: `spec.nodeName`, '' while unbound. */
  readonly nodeName?: string;
}

/** Pods bound to a node go to that node's subject, so that a kubelet can be limited to it. */
export function changeSubject(of: SubjectOf): string {
  const scope = subjectToken(of.namespace === '' ? '-' : of.namespace);
  const tail = `${scope}.${subjectToken(of.name)}`;
  if (of.group === '' && of.resource === 'pods') {
    return of.nodeName === undefined || of.nodeName === ''
      ? `${ROOT}.pend.pods.${tail}`
      : `${ROOT}.node.${subjectToken(of.nodeName)}.pods.${tail}`;
  }
  return `${ROOT}.obj.${groupToken(of.group)}.${of.resource}.${tail}`;
}

/** Pods bound to one node. */
export function nodePodsPattern(nodeName: string): string {
  return `${ROOT}.node.${subjectToken(nodeName)}.pods.>`;
}

/** Pods without a node. */
export function pendingPodsPattern(): string {
  return `${ROOT}.pend.pods.>`;
}

/** Every object of a resource. All pods need two patterns: this answers the list. */
export function resourcePattern(group: string, resource: string): readonly string[] {
  if (group === '' && resource === 'pods') return [`${ROOT}.node.*.pods.>`, pendingPodsPattern()];
  return [`${ROOT}.obj.${groupToken(group)}.${resource}.>`];
}

/**
 * The chain a message belongs to: `BusMessage.previous` counts within it. A channel is the longest prefix that every
 * subscription either takes whole or not at all: a node's pods, the pending pods, or one resource.
 */
export function channelOf(subject: string): string {
  const tokens = subject.split('.');
  const kind = tokens[2];
  if (kind === 'pend') return tokens.slice(0, 4).join('.');
  return tokens.slice(0, 5).join('.');
}

/** NATS matching rules. */
export function matchesSubject(pattern: string, subject: string): boolean {
  const want = pattern.split('.');
  const have = subject.split('.');
  for (const [i, part] of want.entries()) {
    if (part === '>') return have.length > i;
    if (have[i] === undefined || (part !== '*' && part !== have[i])) return false;
  }
  return want.length === have.length;
}

function groupToken(group: string): string {
  return group === '' ? 'core' : subjectToken(group);
}

/** Percent-encodes everything outside `[A-Za-z0-9_-]` (with `=` for `%`), so that dots and wildcards stay inside one token. */
export function subjectToken(text: string): string {
  return text.replace(/[^A-Za-z0-9_-]/g, (char) => {
    const bytes = new TextEncoder().encode(char);
    return Array.from(bytes, (byte) => `=${byte.toString(16).toUpperCase().padStart(2, '0')}`).join('');
  });
}
