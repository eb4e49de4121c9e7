import { createServer } from 'node:https';
import { setTimeout as sleep } from 'node:timers/promises';

/** Only modules of Node: its text runs as a pod. What the webhooks of the conformance tests do, in a server of our own. */

interface Reviewed {
  readonly apiVersion?: string;
  readonly kind?: string;
  readonly metadata?: { readonly name?: string; readonly labels?: Record<string, string> };
  readonly data?: Record<string, string>;
  readonly spec?: {
    readonly containers?: readonly { readonly name: string }[];
    readonly initContainers?: readonly { readonly name: string }[];
  };
  readonly stdin?: boolean;
  readonly container?: string;
}

interface ReviewRequest {
  readonly uid: string;
  readonly name?: string;
  readonly operation: string;
  readonly subResource?: string;
  readonly resource: { readonly group: string; readonly version: string; readonly resource: string };
  readonly object: Reviewed | null;
  readonly oldObject: Reviewed | null;
}

type Verdict = Readonly<Record<string, unknown>> | 'never';
type Reviewer = (request: ReviewRequest) => Verdict;

const MARK = 'webhook-e2e-test';
const ALLOWED = { allowed: true };
/** Long after the shortest deadline of these tests, long before the longest. */
const DELAY_MS = 3_000;

const denied = (status: object): Verdict => ({ allowed: false, status });
const patched = (...operations: readonly object[]): Verdict => ({
  ...ALLOWED,
  patchType: 'JSONPatch',
  patch: Buffer.from(JSON.stringify(operations)).toString('base64'),
});
const adding = (path: string, value: unknown): Verdict => patched({ op: 'add', path, value });

function reviewPod({ object }: ReviewRequest): Verdict {
  const label = object?.metadata?.labels?.[MARK];
  if (label === 'wait-forever') return 'never';
  const faults = label === 'webhook-disallow' ? ['the pod contains unwanted label;'] : [];
  for (const { name } of object?.spec?.containers ?? []) {
    if (name.includes('webhook-disallow')) faults.push('the pod contains unwanted container name;');
  }
  return faults.length === 0 ? ALLOWED : denied({ message: faults.join(' ') });
}

function reviewAttachment({ name, resource, subResource, object }: ReviewRequest): Verdict {
  if (name !== 'to-be-attached-pod') return ALLOWED;
  const { group, version, resource: plural } = resource;
  if (group !== '' || version !== 'v1' || plural !== 'pods' || subResource !== 'attach')
    return denied({ message: 'expected pods/attach' });
  if (object?.apiVersion !== 'v1' || object.kind !== 'PodAttachOptions')
    return denied({ message: 'expected PodAttachOptions' });
  if (object.stdin !== true || object.container !== 'container1') return ALLOWED;
  return denied({ message: "attaching to pod 'to-be-attached-pod' is not allowed" });
}

function addInitContainer({ object }: ReviewRequest): Verdict {
  const has = object?.spec?.initContainers?.some(({ name }) => name === 'webhook-added-init-container') === true;
  if (object?.metadata?.name !== 'webhook-to-be-mutated' || has) return ALLOWED;
  const container = { image: 'webhook-added-image', name: 'webhook-added-init-container', resources: {} };
  return adding('/spec/initContainers', [container]);
}

/** Refusals of these say why in the reason, and nothing in the message. */
const reviewData =
  (what: string, unwanted: string): Reviewer =>
  ({ operation, object, oldObject }) => {
    const mark = (operation === 'DELETE' ? oldObject : object)?.data?.[MARK];
    if (mark === 'webhook-disallow' && operation !== 'DELETE')
      return denied({ reason: `the ${what} contains unwanted ${unwanted}` });
    if (mark === 'webhook-nondeletable' && operation === 'DELETE')
      return denied({ reason: `the ${what} cannot be deleted because it contains unwanted key and value` });
    return ALLOWED;
  };

function nextStage({ object }: ReviewRequest): Verdict {
  const data = object?.data ?? {};
  if (data['mutation-stage-1'] === 'yes') return adding('/data/mutation-stage-2', 'yes');
  return data['mutation-start'] === 'yes' ? adding('/data/mutation-stage-1', 'yes') : ALLOWED;
}

const REVIEWERS = new Map<string, Reviewer>([
  ['/always-allow-delay-5s', () => ALLOWED],
  ['/always-deny', () => denied({ message: 'this webhook denies all requests' })],
  ['/add-label', () => adding('/metadata/labels', { 'added-label': 'yes' })],
  ['/pods', reviewPod],
  ['/pods/attach', reviewAttachment],
  ['/mutating-pods', addInitContainer],
  ['/configmaps', reviewData('configmap', 'key and value')],
  ['/mutating-configmaps', nextStage],
  ['/custom-resource', reviewData('custom resource', 'data')],
  ['/mutating-custom-resource', nextStage],
  [
    '/crd',
    ({ object }) =>
      object?.metadata?.labels?.[MARK] === 'webhook-disallow'
        ? denied({ reason: 'the crd contains unwanted label' })
        : ALLOWED,
  ],
]);

interface Converted {
  readonly apiVersion: string;
  readonly hostPort?: string;
  readonly host?: string;
  readonly port?: string;
}

function convert({ hostPort, host, port, ...rest }: Converted, desired: string): object {
  if (desired.endsWith('/v1')) {
    const parts = [host, port].filter((part) => part !== undefined);
    return { ...rest, ...(parts.length === 0 ? { hostPort } : { hostPort: parts.join(':') }), apiVersion: desired };
  }
  const [first = host, second = port] = hostPort?.split(':') ?? [];
  return { ...rest, host: first, port: second, apiVersion: desired };
}

interface Review {
  readonly kind: string;
  readonly apiVersion: string;
  readonly request: ReviewRequest & { readonly desiredAPIVersion: string; readonly objects: readonly Converted[] };
}

/** A decoder in Go refuses an object that does not say what it is. */
const isTyped = (object: Reviewed | null): boolean =>
  object === null || (object.kind !== undefined && object.apiVersion !== undefined);

function answerTo(path: string, { request }: Review): Verdict {
  if (path !== '/crdconvert') {
    if (!isTyped(request.object) || !isTyped(request.oldObject)) return denied({ message: "Object 'Kind' is missing" });
    return REVIEWERS.get(path)?.(request) ?? 'never';
  }
  const convertedObjects = request.objects.map((each) => convert(each, request.desiredAPIVersion));
  return { result: { status: 'Success' }, convertedObjects };
}

const { TLS_CRT: cert = '', TLS_KEY: key = '', PORT } = process.env;
createServer({ cert, key }, (request, response) => {
  const { pathname } = new URL(request.url ?? '', 'https://x');
  // A server in Go reads nothing else.
  const isJson = request.headers['content-type'] === 'application/json';
  if (pathname === '/readyz') return void response.end('ok');
  if (!isJson || (pathname !== '/crdconvert' && !REVIEWERS.has(pathname))) return void response.writeHead(404).end();
  const chunks: Buffer[] = [];
  request.on('data', (chunk: Buffer) => chunks.push(chunk));
  request.on('end', () => {
    const review = JSON.parse(Buffer.concat(chunks).toString()) as Review;
    const { kind, apiVersion } = review;
    const answer = answerTo(pathname, review);
    if (answer === 'never') return;
    // A server in Go sends the request back empty with what it converted.
    const emptied = pathname === '/crdconvert' ? { request: { uid: '', desiredAPIVersion: '', objects: null } } : {};
    const body = { kind, apiVersion, ...emptied, response: { uid: review.request.uid, ...answer } };
    const send = (): void => void response.setHeader('content-type', 'application/json').end(JSON.stringify(body));
    if (pathname.endsWith('-delay-5s')) void sleep(DELAY_MS).then(send);
    else send();
  });
}).listen(Number(PORT), '0.0.0.0');
