/** Every subject name is composed here, so that permissions, publishers and consumers agree. */

const ROOT = 'k8s.ev';
const PENDING_PREFIX = `${ROOT}.pend.`;
const PENDING_PODS = `${ROOT}.pend.pods`;

/** Carries a `Heartbeat` every few seconds: a consumer of a quiet channel learns that it missed nothing. */
export const HEARTBEAT_SUBJECT = `${ROOT}.sys.hb`;

/** The properties of an object that determine the subject of its changes. */
export interface SubjectOf {
  readonly group: string;
  readonly resource: string;
  readonly namespace: string;
  readonly name: string;
  /** Pods only: `spec.nodeName`, '' while unbound. */
  readonly nodeName?: string;
}

/** A bound pod's changes go to the subject of its node, so that permissions can limit a kubelet to it. */
export function changeSubject(of: SubjectOf): string {
  return `${changeChannel(of)}.${subjectToken(of.namespace === '' ? '-' : of.namespace)}.${subjectToken(of.name)}`;
}

/** Equals `channelOf` of the subject of the change. */
export function changeChannel({ group, resource, nodeName = '' }: SubjectOf): string {
  if (group !== '' || resource !== 'pods') return `${ROOT}.obj.${groupToken(group)}.${resource}`;
  return nodeName === '' ? PENDING_PODS : `${ROOT}.node.${subjectToken(nodeName)}.pods`;
}

/** Matches the pods bound to one node. */
export function nodePodsPattern(nodeName: string): string {
  return `${ROOT}.node.${subjectToken(nodeName)}.pods.>`;
}

/** Matches the pods without a node. */
export function pendingPodsPattern(): string {
  return `${PENDING_PODS}.>`;
}

/** Matches every object of a resource. All pods need two patterns, so this returns a list. */
export function resourcePattern(group: string, resource: string): readonly string[] {
  if (group === '' && resource === 'pods') return [`${ROOT}.node.*.pods.>`, pendingPodsPattern()];
  return [`${ROOT}.obj.${groupToken(group)}.${resource}.>`];
}

/**
 * Returns the chain of a message: `BusMessage.previous` counts within it. A channel is the longest prefix that every
 * subscription takes either whole or not at all: a node's pods, the pending pods, or one resource.
 */
export function channelOf(subject: string): string {
  const tokens = subject.startsWith(PENDING_PREFIX) ? 4 : 5;
  let end = -1;
  for (let token = 0; token < tokens; token++) {
    end = subject.indexOf('.', end + 1);
    if (end < 0) return subject;
  }
  return subject.slice(0, end);
}

/**
 * True when the pattern takes each channel either whole or not at all. Then the channel alone decides who gets a
 * message.
 */
export function takesWholeChannels(pattern: string): boolean {
  const tokens = pattern.split('.');
  if (tokens.at(-1) !== '>') return pattern === HEARTBEAT_SUBJECT;
  const kind = tokens[2];
  return tokens.length - 1 <= (kind === 'node' || kind === 'obj' ? 5 : 4);
}

/**
 * Returns the one channel that the pattern takes whole; `undefined` for a pattern of several channels or of a part of
 * one.
 */
export function onlyChannelOf(pattern: string): string | undefined {
  const channel = pattern.slice(0, -'.>'.length);
  const tokens = channel.split('.');
  const isWhole = pattern.endsWith('.>') && tokens.length === (tokens[2] === 'pend' ? 4 : 5);
  return isWhole && !tokens.includes('*') ? channel : undefined;
}

/** Follows the matching rules of NATS. */
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

const UNSAFE = /[^A-Za-z0-9_-]/;
const UNSAFE_BUT_DOTS = /[^A-Za-z0-9_.-]/;

/** Percent-encodes everything outside `[A-Za-z0-9_-]` (with `=` for `%`), so that dots and wildcards stay inside one token. */
export function subjectToken(text: string): string {
  if (!UNSAFE.test(text)) return text;
  // Names of nodes, Events and API groups contain dots only.
  if (!UNSAFE_BUT_DOTS.test(text)) return text.replaceAll('.', '=2E');
  return text.replace(/[^A-Za-z0-9_-]/g, (char) => {
    const bytes = new TextEncoder().encode(char);
    return Array.from(bytes, (byte) => `=${byte.toString(16).toUpperCase().padStart(2, '0')}`).join('');
  });
}
