import { test } from 'node:test';
import type { JsonObject } from '@holdfast/machinery';
import { check, container, withContainer } from './odd-testing.ts';

const C = 'spec.containers[0]';

test('security: identities, profiles and systems', () => {
  const S = 'spec.securityContext';
  const own = (securityContext: JsonObject): JsonObject => withContainer({ securityContext });
  const windows = {
    os: { name: 'windows' },
    hostPID: true,
    shareProcessNamespace: true,
    securityContext: { seLinuxOptions: {}, fsGroup: 1, runAsUser: 1, seccompProfile: { type: 'Unconfined' } },
  };
  check([
    [
      { securityContext: { fsGroup: -1, runAsUser: -1, runAsGroup: -1, supplementalGroups: [-1] } },
      [
        `${S}.fsGroup: Invalid value: -1: must be between 0 and 2147483647, inclusive`,
        `${S}.runAsUser: Invalid value: -1: must be between 0 and 2147483647, inclusive`,
        `${S}.runAsGroup: Invalid value: -1: must be between 0 and 2147483647, inclusive`,
        `${S}.supplementalGroups[0]: Invalid value: -1: must be between 0 and 2147483647, inclusive`,
      ],
    ],
    [
      { shareProcessNamespace: true, hostPID: true },
      [`${S}.shareProcessNamespace: Invalid value: true: ShareProcessNamespace and HostPID cannot both be enabled`],
    ],
    [
      {
        hostNetwork: true,
        securityContext: {
          sysctls: [
            { name: '' },
            { name: 'net.a', value: '1' },
            { name: 'A', value: '1' },
            { name: 'net.a', value: '1' },
          ],
        },
      },
      [
        `${S}.sysctls[0].name: Required value`,
        `${S}.sysctls[1].name: Invalid value: "net.a": may not be specified when 'hostNetwork' is true`,
        `${S}.sysctls[2].name: Invalid value: "A": must have at most 253 characters and match regex ^([a-z0-9]([-_a-z0-9]*[a-z0-9])?[\\./])*[a-z0-9]([-_a-z0-9]*[a-z0-9])?$`,
        `${S}.sysctls[3].name: Duplicate value: "net.a"`,
        `${S}.sysctls[3].name: Invalid value: "net.a": may not be specified when 'hostNetwork' is true`,
      ],
    ],
    [
      { securityContext: { fsGroupChangePolicy: 'X' } },
      [`${S}.fsGroupChangePolicy: Unsupported value: "X": supported values: "Always", "OnRootMismatch"`],
    ],
    [
      own({ seccompProfile: { type: 'Localhost' } }),
      [
        `${C}.securityContext.seccompProfile.localhostProfile: Required value: must be set when seccomp type is Localhost`,
      ],
    ],
    [
      own({ seccompProfile: { type: 'X', localhostProfile: 'a' } }),
      [
        `${C}.securityContext.seccompProfile.type: Unsupported value: "X": supported values: "Localhost", "RuntimeDefault", "Unconfined"`,
        `${C}.securityContext.seccompProfile.localhostProfile: Invalid value: core.SeccompProfile{Type:"X", LocalhostProfile:(*string)(0x…`,
      ],
    ],
    [
      own({ appArmorProfile: { type: 'Localhost', localhostProfile: '  ' } }),
      [
        `${C}.securityContext.appArmorProfile.localhostProfile: Invalid value: "  ": must not be padded with whitespace`,
      ],
    ],
    [
      own({ appArmorProfile: { type: 'Unconfined', localhostProfile: 'a' } }),
      [
        `${C}.securityContext.appArmorProfile.localhostProfile: Invalid value: "a": can only be set when AppArmor type is Localhost`,
      ],
    ],
    [
      own({ windowsOptions: { gmsaCredentialSpecName: 'N', gmsaCredentialSpec: '', runAsUserName: 'a\\b\\c' } }),
      [
        `${C}.securityContext.windowsOptions.gmsaCredentialSpecName: Invalid value: "N": a lowercase RFC 1123 subdomain…`,
        `${C}.securityContext.windowsOptions.gmsaCredentialSpec: Invalid value: "": gmsaCredentialSpec cannot be an empty string`,
        `${C}.securityContext.windowsOptions.runAsUserName: Invalid value: "a\\\\b\\\\c": runAsUserName cannot contain more than one backslash`,
      ],
    ],
    [
      windows,
      [
        `${S}.seLinuxOptions: Forbidden: cannot be set for a windows pod`,
        'spec.hostPID: Forbidden: cannot be set for a windows pod',
        `${S}.seccompProfile: Forbidden: cannot be set for a windows pod`,
        `${S}.fsGroup: Forbidden: cannot be set for a windows pod`,
        'spec.shareProcessNamespace: Forbidden: cannot be set for a windows pod',
        `${S}.runAsUser: Forbidden: cannot be set for a windows pod`,
      ].toSpliced(
        0,
        0,
        `${S}.shareProcessNamespace: Invalid value: true: ShareProcessNamespace and HostPID cannot both be enabled`,
      ),
    ],
    [
      { os: { name: 'linux' }, securityContext: { windowsOptions: {} } },
      [`${S}.windowsOptions: Forbidden: windows options cannot be set for a linux pod`],
    ],
    [{ os: { name: '' } }, ['spec.os.name: Required value: cannot be empty']],
  ]);
});

test('scheduling: affinity, tolerations, spreading and gates', () => {
  const affinity = (nodeAffinity: JsonObject): JsonObject => ({ affinity: { nodeAffinity } });
  const N = 'spec.affinity.nodeAffinity.requiredDuringSchedulingIgnoredDuringExecution.nodeSelectorTerms';
  const terms = (...nodeSelectorTerms: JsonObject[]): JsonObject =>
    affinity({ requiredDuringSchedulingIgnoredDuringExecution: { nodeSelectorTerms } });
  const near = (term: JsonObject): JsonObject => ({
    affinity: { podAffinity: { requiredDuringSchedulingIgnoredDuringExecution: [term] } },
  });
  const A = 'spec.affinity.podAffinity.requiredDuringSchedulingIgnoredDuringExecution[0]';
  const T = 'spec.tolerations[0]';
  const X = 'spec.topologySpreadConstraints[0]';
  check([
    [terms(), [`${N}: Required value: must have at least one node selector term`]],
    [
      terms({
        matchExpressions: [
          { key: 'a', operator: 'Gt', values: [] },
          { key: '', operator: 'X' },
        ],
      }),
      [
        `${N}[0].matchExpressions[0].values: Required value: must be specified single value when \`operator\` is 'Lt' or 'Gt'`,
        `${N}[0].matchExpressions[1].operator: Invalid value: "X": not a valid selector operator`,
        `${N}[0].matchExpressions[1].key: Invalid value: "": name part must be non-empty`,
        `${N}[0].matchExpressions[1].key: Invalid value: "": name part must consist…`,
      ],
    ],
    [terms({ matchExpressions: [{ key: 'a', operator: 'NotIn', values: ['-no label-'] }] }), []],
    [
      terms({
        matchFields: [
          { key: 'x', operator: 'Exists' },
          { key: 'metadata.name', operator: 'In', values: ['A', 'b'] },
        ],
      }),
      [
        `${N}[0].matchFields[0].operator: Invalid value: "Exists": not a valid selector operator`,
        `${N}[0].matchFields[0].key: Invalid value: "x": not a valid field selector key`,
        `${N}[0].matchFields[1].values: Required value: must be only one value when \`operator\` is 'In' or 'NotIn' for node field selector`,
        `${N}[0].matchFields[1].values[0]: Invalid value: "A": a lowercase RFC 1123 subdomain…`,
      ],
    ],
    [
      affinity({ preferredDuringSchedulingIgnoredDuringExecution: [{ weight: 101, preference: {} }] }),
      [
        'spec.affinity.nodeAffinity.preferredDuringSchedulingIgnoredDuringExecution[0].weight: Invalid value: 101: must be in the range 1-100',
      ],
    ],
    [
      near({ namespaces: ['N'], topologyKey: '', matchLabelKeys: ['a'] }),
      [
        `${A}.namespace: Invalid value: "N": a lowercase RFC 1123 label…`,
        `${A}.matchLabelKeys: Forbidden: must not be specified when labelSelector is not set`,
        `${A}.topologyKey: Required value: can not be empty`,
        `${A}.topologyKey: Invalid value: "": name part must be non-empty`,
        `${A}.topologyKey: Invalid value: "": name part must consist…`,
      ],
    ],
    [
      near({ topologyKey: 'z', labelSelector: {}, matchLabelKeys: ['a'], mismatchLabelKeys: ['a'] }),
      [`${A}.matchLabelKeys[0]: Invalid value: "a": exists in both matchLabelKeys and mismatchLabelKeys`],
    ],
    [
      { tolerations: [{ key: 'k', operator: 'Exists', value: 'v', effect: 'X', tolerationSeconds: 1 }] },
      [
        `${T}.effect: Invalid value: "X": effect must be 'NoExecute' when \`tolerationSeconds\` is set`,
        `${T}.operator: Invalid value: "v": value must be empty when \`operator\` is 'Exists'`,
        `${T}.effect: Unsupported value: "X": supported values: "NoSchedule", "PreferNoSchedule", "NoExecute"`,
      ],
    ],
    [
      {
        tolerations: [
          { operator: 'Equal', value: 'a b' },
          { key: 'k', operator: 'Y' },
        ],
      },
      [
        `${T}.operator: Invalid value: "Equal": operator must be Exists when \`key\` is empty, which means "match all values and all keys"`,
        `${T}.operator: Invalid value: "a b": a valid label…`,
        'spec.tolerations[1].operator: Unsupported value: "Y": supported values: "Equal", "Exists"',
      ],
    ],
    [
      {
        topologySpreadConstraints: [
          { maxSkew: 0, topologyKey: '', whenUnsatisfiable: 'ScheduleAnyway', minDomains: 0, nodeTaintsPolicy: 'X' },
        ],
      },
      [
        `${X}.maxSkew: Invalid value: 0: must be greater than zero`,
        `${X}.topologyKey: Required value: can not be empty`,
        `${X}.minDomains: Invalid value: 0: must be greater than zero`,
        `${X}.minDomains: Invalid value: 0: can only use minDomains if whenUnsatisfiable=DoNotSchedule, not ScheduleAnyway`,
        `${X}.nodeTaintsPolicy: Unsupported value: "X": supported values: "Honor", "Ignore"`,
      ],
    ],
    [
      { schedulingGates: [{ name: 'a b' }, { name: 'a' }, { name: 'a' }], nodeName: 'n' },
      [
        'spec.schedulingGates[0]: Invalid value: "a b": name part must consist…',
        'spec.schedulingGates[2]: Duplicate value: "a"',
        'spec.nodeName: Forbidden: cannot be set until all schedulingGates have been cleared',
      ],
    ],
    [
      { readinessGates: [{ conditionType: 'a b' }] },
      ['spec.readinessGates[0].conditionType: Invalid value: "a b": name part must consist…'],
    ],
  ]);
});

test('names, addresses and annotations', () => {
  const A = 'metadata.annotations';
  const annotated = (annotations: JsonObject): JsonObject => ({ annotations });
  check([
    [
      {
        serviceAccountName: 'A',
        nodeName: 'B',
        hostname: 'a.b',
        subdomain: 'C',
        priorityClassName: 'D',
        runtimeClassName: 'E',
      },
      [
        'spec.serviceAccountName: Invalid value: "A": a lowercase RFC 1123 subdomain…',
        'spec.nodeName: Invalid value: "B": a lowercase RFC 1123 subdomain…',
        'spec.hostname: Invalid value: "a.b": must not contain dots',
        'spec.subdomain: Invalid value: "C": a lowercase RFC 1123 label…',
        'spec.priorityClassName: Invalid value: "D": a lowercase RFC 1123 subdomain…',
        'spec.runtimeClassName: Invalid value: "E": a lowercase RFC 1123 subdomain…',
      ],
    ],
    [
      { activeDeadlineSeconds: 0 },
      ['spec.activeDeadlineSeconds: Invalid value: 0: must be between 1 and 2147483647, inclusive'],
    ],
    [
      { hostAliases: [{ ip: 'x', hostnames: ['A'] }] },
      [
        'spec.hostAliases[0].ip: Invalid value: "x": must be a valid IP address, (e.g. 10.9.8.7 or 2001:db8::ffff)',
        'spec.hostAliases[0].hostnames[0]: Invalid value: "A": a lowercase RFC 1123 subdomain…',
      ],
    ],
    [{ dnsPolicy: 'None' }, ['spec.dnsConfig: Required value: must provide `dnsConfig` when `dnsPolicy` is None']],
    [
      { dnsPolicy: 'None', dnsConfig: {} },
      ['spec.dnsConfig.nameservers: Required value: must provide at least one DNS nameserver when `dnsPolicy` is None'],
    ],
    [
      { dnsConfig: { nameservers: ['1.1.1.1', 'x', '::1', '1.1.1.2'], searches: ['a.', 'B'], options: [{}] } },
      [
        'spec.dnsConfig.nameservers: Invalid value: []string{"1.1.1.1", "x", "::1", "1.1.1.2"}: must not have more than 3 nameservers',
        'spec.dnsConfig.nameservers[1]: Invalid value: "x": must be a valid IP address, (e.g. 10.9.8.7 or 2001:db8::ffff)',
        'spec.dnsConfig.searches[1]: Invalid value: "B": a lowercase RFC 1123 subdomain…',
        'spec.dnsConfig.options[0]: Required value: must not be empty',
      ],
    ],
    [
      { preemptionPolicy: 'X' },
      ['spec.preemptionPolicy: Unsupported value: "X": supported values: "PreemptLowerPriority", "Never"'],
    ],
    [
      {},
      [`${A}[kubernetes.io/config.mirror]: Invalid value: "x": must set spec.nodeName if mirror pod annotation is set`],
      annotated({ 'kubernetes.io/config.mirror': 'x' }),
    ],
    [
      {},
      [
        `${A}: Invalid value: "scheduler.alpha.kubernetes.io/tolerations": invalid character 'x' looking for beginning of value`,
        `${A}[controller.kubernetes.io/pod-deletion-cost]: Invalid value: "+1": must be a 32bit integer`,
      ],
      annotated({
        'controller.kubernetes.io/pod-deletion-cost': '+1',
        'scheduler.alpha.kubernetes.io/tolerations': 'x',
      }),
    ],
    [
      {},
      [
        `${A}.scheduler.alpha.kubernetes.io/tolerations[0].operator: Unsupported value: "X": supported values: "Equal", "Exists"`,
      ],
      annotated({ 'scheduler.alpha.kubernetes.io/tolerations': '[{"key":"a","operator":"X"}]' }),
    ],
    [{}, [], annotated({ 'controller.kubernetes.io/pod-deletion-cost': '-0' })],
    [
      {},
      [
        `${A}.seccomp.security.alpha.kubernetes.io/pod: Invalid value: "x": must be a valid seccomp profile`,
        `${A}.container.seccomp.security.alpha.kubernetes.io/c: Invalid value: "/a": must be a relative path`,
        `${A}[container.apparmor.security.beta.kubernetes.io/d]: Invalid value: "d": container not found`,
        `${A}[container.apparmor.security.beta.kubernetes.io/d]: Invalid value: "x": invalid AppArmor profile name: "x"`,
      ],
      annotated({
        'container.apparmor.security.beta.kubernetes.io/d': 'x',
        'container.seccomp.security.alpha.kubernetes.io/c': 'localhost//a',
        'seccomp.security.alpha.kubernetes.io/pod': 'x',
      }),
    ],
    [
      { containers: [container({ securityContext: { seccompProfile: { type: 'Unconfined' } } })] },
      [`${C}.securityContext.seccompProfile.type: Forbidden: seccomp type in annotation and field must match`],
      annotated({ 'container.seccomp.security.alpha.kubernetes.io/c': 'runtime/default' }),
    ],
    [
      {
        containers: [
          container({ securityContext: { appArmorProfile: { type: 'Unconfined' } } }),
          container({ name: 'd', securityContext: { seccompProfile: { type: 'Unconfined' } } }),
        ],
      },
      [
        'spec.containers[1].securityContext.seccompProfile.type: Forbidden: seccomp type in annotation and field must match',
        `${C}.securityContext.appArmorProfile.type: Forbidden: apparmor type in annotation and field must match`,
      ],
      annotated({
        'container.apparmor.security.beta.kubernetes.io/c': 'runtime/default',
        'container.seccomp.security.alpha.kubernetes.io/d': 'runtime/default',
      }),
    ],
  ]);
});
