import { RuntimeError, type SandboxConfig, type SandboxIdentity } from '../port.ts';

/** Kubernetes' own, which tools like crictl read, and the node: several may share one runtime. */
export const NODE_LABEL = 'holdfast.io/node';
const POD_NAME = 'io.kubernetes.pod.name';
const POD_NAMESPACE = 'io.kubernetes.pod.namespace';
export const POD_UID_LABEL = 'io.kubernetes.pod.uid';
const CONTAINER_NAME = 'io.kubernetes.container.name';

/** The whole request, so that a later kubelet gives the same one again when it creates containers. */
const SANDBOX_ANNOTATION = 'holdfast.io/sandbox';
/** The image as in the pod; the runtime returns its own name. */
const IMAGE_ANNOTATION = 'holdfast.io/image';
const STDIN_ANNOTATION = 'holdfast.io/stdin';

type Texts = Readonly<Record<string, string>>;

export function sandboxLabels(node: string, config: SandboxIdentity): Record<string, string> {
  return {
    [NODE_LABEL]: node,
    [POD_NAME]: config.podName,
    [POD_NAMESPACE]: config.podNamespace,
    [POD_UID_LABEL]: config.podUid,
  };
}

export function containerLabels(node: string, sandbox: SandboxIdentity, container: string): Record<string, string> {
  return { ...sandboxLabels(node, sandbox), [CONTAINER_NAME]: container };
}

export function selectorOf(node: string, podUid: string | undefined): Record<string, string> {
  return podUid === undefined ? { [NODE_LABEL]: node } : { [NODE_LABEL]: node, [POD_UID_LABEL]: podUid };
}

export function sandboxAnnotations(config: SandboxConfig): Record<string, string> {
  return { ...config.isolation?.annotations, [SANDBOX_ANNOTATION]: JSON.stringify(config) };
}

export function decodeSandbox(id: string, annotations: Texts): SandboxConfig {
  const text = annotations[SANDBOX_ANNOTATION];
  if (text === undefined) throw new RuntimeError('Internal', `sandbox ${id} was not created by this kubelet`);
  return JSON.parse(text) as SandboxConfig;
}

export function containerAnnotations(image: string, stdin: boolean): Record<string, string> {
  return { [IMAGE_ANNOTATION]: image, ...(stdin ? { [STDIN_ANNOTATION]: 'open' } : {}) };
}

export const hasStdin = (annotations: Texts): boolean => annotations[STDIN_ANNOTATION] !== undefined;

export const imageOf = (annotations: Texts): string => annotations[IMAGE_ANNOTATION] ?? '';

export const podUidOf = (labels: Texts): string => labels[POD_UID_LABEL] ?? '';

export const containerNameOf = (labels: Texts): string => labels[CONTAINER_NAME] ?? '';
