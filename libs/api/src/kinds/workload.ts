import { formatLabelSelector } from '@holdfast/machinery';
import type { LabelSelector } from '../generated/types.ts';
import type { KubeObject, ScaleAccess } from '../resource.ts';

type Scalable = KubeObject & {
  spec: { replicas?: number; selector?: LabelSelector };
  readonly status: { readonly replicas?: number };
};

/** `/scale` of kinds with replicas of a template. */
export function scaleOf<T extends Scalable>(): ScaleAccess<T> {
  return {
    replicas: (object) => object.spec.replicas ?? 0,
    statusReplicas: (object) => object.status.replicas ?? 0,
    selector: (object) => formatLabelSelector(object.spec.selector),
    setReplicas: (object, replicas) => {
      object.spec.replicas = replicas;
    },
  };
}
