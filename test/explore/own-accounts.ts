import { apply, atOnce, deployment, type OwnControllers, own, remove } from './own-workload.ts';

const AGGREGATED = { part: 'of-all' };
const role = (name: string, fields: object) => ({
  apiVersion: 'rbac.authorization.k8s.io/v1',
  kind: 'ClusterRole',
  metadata: { name, labels: AGGREGATED },
  ...fields,
});
const whole = {
  ...role('all', { aggregationRule: { clusterRoleSelectors: [{ matchLabels: AGGREGATED }] } }),
  metadata: { name: 'all' },
};
const reading = (...resources: readonly string[]) => ({ rules: [{ apiGroups: [''], resources, verbs: ['get'] }] });

/** Requests of the node `ghost` and of the user `jane`, in PEM. They do not expire. */
const OF_NODE =
  'LS0tLS1CRUdJTiBDRVJUSUZJQ0FURSBSRVFVRVNULS0tLS0KTUlIdU1JR1ZBZ0VBTURNeEZUQVRCZ05WQkFvTURITjVjM1JsYlRwdWIyUmxjekVhTUJnR0ExVUVBd3dSYzNsegpkR1Z0T201dlpHVTZaMmh2YzNRd1dUQVRCZ2NxaGtqT1BRSUJCZ2dxaGtqT1BRTUJCd05DQUFTM1NEQmNtU3FvCk95QXQza29IRGdPczg5TXNlbkJ2ZTFYcmxIaUhuL1RoYkREYzRuRzRDN2pDODhkNlBCQlJ1UGcwUUVDOURnUjkKOHpQQ09WdGRjNGg4b0FBd0NnWUlLb1pJemowRUF3SURTQUF3UlFJaEFJR0Y5V3FPQ3d1ZUdVL0xCRlE5S3JBOQpzSmtMclZ2US80MlY4N0tnNkNMa0FpQlI5WldHckw1bFF4LzBPRE5NOFFwdFVCRU9Va0dNYitGaCtmMTNKNmFxCm53PT0KLS0tLS1FTkQgQ0VSVElGSUNBVEUgUkVRVUVTVC0tLS0tCg==';
const OF_USER =
  'LS0tLS1CRUdJTiBDRVJUSUZJQ0FURSBSRVFVRVNULS0tLS0KTUlISU1IRUNBUUF3RHpFTk1Bc0dBMVVFQXd3RWFtRnVaVEJaTUJNR0J5cUdTTTQ5QWdFR0NDcUdTTTQ5QXdFSApBMElBQkNWcG9mU0FBenk2Ui9WSUxqaE9vcURBUk9CdEZ1andjZTZLekdKc25idHZISithWUl5eFdjTGNMeVNsCnduZmt5OHB1eE13UDVYODc5K1lMTmxLLzI0Q2dBREFLQmdncWhrak9QUVFEQWdOSEFEQkVBaUJETWhTRFZWQmEKMFppYk5FbTErc21ueFBrMkx4WWhxVmVJWGVPNmZvUHpjUUlnUW54WFVBY2kwTDV2SlFVRDNZY0RWYUhXbzhTQQpRNy80dTRYUDFCd0hnZW89Ci0tLS0tRU5EIENFUlRJRklDQVRFIFJFUVVFU1QtLS0tLQo=';

const request = (name: string, signer: string, pem: string) => ({
  apiVersion: 'certificates.k8s.io/v1',
  kind: 'CertificateSigningRequest',
  metadata: { name },
  spec: { request: pem, signerName: `kubernetes.io/${signer}`, usages: ['digital signature', 'client auth'] },
});
const ofNode = request('ghost', 'kube-apiserver-client-kubelet', OF_NODE);
const ofUser = request('jane', 'kube-apiserver-client', OF_USER);

const answer = (object: object, type: string, more: object = {}) => ({
  apply: { ...object, status: { conditions: [{ type, status: 'True', reason: 'ByHand', ...more }] } },
  subresource: 'approval',
});
const LONG_AGO = { lastUpdateTime: '2020-01-01T00:00:00Z', lastTransitionTime: '2020-01-01T00:00:00Z' };

/** It has no metrics: its bounds alone decide. */
const autoscaler = (minReplicas: number, maxReplicas: number) => ({
  apiVersion: 'autoscaling/v2',
  kind: 'HorizontalPodAutoscaler',
  metadata: { name: 'web', namespace: 'default' },
  spec: { scaleTargetRef: { apiVersion: 'apps/v1', kind: 'Deployment', name: 'web' }, minReplicas, maxReplicas },
});

export const ACCOUNT_CONTROLLERS: readonly (readonly [string, OwnControllers])[] = [
  [
    'clusterrole-aggregation',
    own(
      ['clusterrole-aggregation'],
      [
        apply(whole),
        apply(role('one', reading('pods'))),
        apply(role('two', reading('secrets'))),
        apply(role('one', reading('pods', 'nodes'))),
        remove(role('two', {})),
      ],
    ),
  ],
  [
    'certificates',
    own(
      ['csrapproving', 'csrsigning'],
      [apply(ofNode), atOnce(apply(ofUser)), answer(ofUser, 'Approved'), remove(ofNode), apply(ofNode)],
    ),
  ],
  [
    'csrcleaner',
    own(['csrcleaner'], [atOnce(apply(ofUser)), answer(ofUser, 'Denied', LONG_AGO), apply(ofUser), remove(ofUser)]),
  ],
  [
    'horizontal-pod-autoscaler',
    own(
      ['horizontal-pod-autoscaler'],
      [atOnce(apply(deployment(1))), apply(autoscaler(3, 5)), apply(autoscaler(1, 2)), remove(autoscaler(1, 2))],
      { quietMs: 1_500 },
    ),
  ],
];
