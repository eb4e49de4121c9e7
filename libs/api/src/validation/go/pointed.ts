import { GO_STRUCTS } from './structs.ts';

/** The types behind the pointers of `GO_STRUCTS`, for messages that show a difference. */
const HANDLER = [
  ['Exec', 'exec', '*core.ExecAction'],
  ['HTTPGet', 'httpGet', '*core.HTTPGetAction'],
  ['TCPSocket', 'tcpSocket', '*core.TCPSocketAction'],
] as const;

const SELECTED_TERMS = (type: string) =>
  [
    ['RequiredDuringSchedulingIgnoredDuringExecution', 'requiredDuringSchedulingIgnoredDuringExecution', `[]${type}`],
    [
      'PreferredDuringSchedulingIgnoredDuringExecution',
      'preferredDuringSchedulingIgnoredDuringExecution',
      '[]core.WeightedPodAffinityTerm',
    ],
  ] as const;

const USERS = [
  ['RunAsUser', 'runAsUser', '*int64'],
  ['RunAsGroup', 'runAsGroup', '*int64'],
  ['RunAsNonRoot', 'runAsNonRoot', '*bool'],
] as const;

const LISTED = [
  ['Items', 'items', '[]core.KeyToPath'],
  ['DefaultMode', 'defaultMode', '*int32'],
  ['Optional', 'optional', '*bool'],
] as const;

const REFERENCE = ['LocalObjectReference', '', 'inline:core.LocalObjectReference'] as const;
const OPTIONAL = ['Optional', 'optional', '*bool'] as const;
const NAMED = [REFERENCE, OPTIONAL] as const;
const KEYED = [REFERENCE, ['Key', 'key', 'string'], OPTIONAL] as const;
const PROJECTED = [REFERENCE, ['Items', 'items', '[]core.KeyToPath'], OPTIONAL] as const;

export const POINTED_STRUCTS: Readonly<Record<string, readonly (readonly [go: string, json: string, type: string])[]>> =
  {
    'core.PodSecurityContext': [
      ['HostNetwork', 'hostNetwork', 'bool'],
      ['HostPID', 'hostPID', 'bool'],
      ['HostIPC', 'hostIPC', 'bool'],
      ['ShareProcessNamespace', 'shareProcessNamespace', '*bool'],
      ['HostUsers', 'hostUsers', '*bool'],
      ['SELinuxOptions', 'seLinuxOptions', '*core.SELinuxOptions'],
      ['WindowsOptions', 'windowsOptions', '*core.WindowsSecurityContextOptions'],
      ...USERS,
      ['SupplementalGroups', 'supplementalGroups', '[]int64'],
      ['SupplementalGroupsPolicy', 'supplementalGroupsPolicy', '*string'],
      ['FSGroup', 'fsGroup', '*int64'],
      ['FSGroupChangePolicy', 'fsGroupChangePolicy', '*string'],
      ['Sysctls', 'sysctls', '[]core.Sysctl'],
      ['SeccompProfile', 'seccompProfile', '*core.SeccompProfile'],
      ['AppArmorProfile', 'appArmorProfile', '*core.AppArmorProfile'],
      ['SELinuxChangePolicy', 'seLinuxChangePolicy', '*string'],
    ],
    'core.SecurityContext': [
      ['Capabilities', 'capabilities', '*core.Capabilities'],
      ['Privileged', 'privileged', '*bool'],
      ['SELinuxOptions', 'seLinuxOptions', '*core.SELinuxOptions'],
      ['WindowsOptions', 'windowsOptions', '*core.WindowsSecurityContextOptions'],
      ...USERS,
      ['ReadOnlyRootFilesystem', 'readOnlyRootFilesystem', '*bool'],
      ['AllowPrivilegeEscalation', 'allowPrivilegeEscalation', '*bool'],
      ['ProcMount', 'procMount', '*string'],
      ['SeccompProfile', 'seccompProfile', '*core.SeccompProfile'],
      ['AppArmorProfile', 'appArmorProfile', '*core.AppArmorProfile'],
    ],
    'core.Capabilities': [
      ['Add', 'add', '[]core.Capability'],
      ['Drop', 'drop', '[]core.Capability'],
    ],
    'core.SeccompProfile': [
      ['Type', 'type', 'string'],
      ['LocalhostProfile', 'localhostProfile', '*string'],
    ],
    'core.AppArmorProfile': [
      ['Type', 'type', 'string'],
      ['LocalhostProfile', 'localhostProfile', '*string'],
    ],
    'core.Sysctl': [
      ['Name', 'name', 'string'],
      ['Value', 'value', 'string'],
    ],
    'core.Affinity': [
      ['NodeAffinity', 'nodeAffinity', '*core.NodeAffinity'],
      ['PodAffinity', 'podAffinity', '*core.PodAffinity'],
      ['PodAntiAffinity', 'podAntiAffinity', '*core.PodAntiAffinity'],
    ],
    'core.NodeAffinity': [
      [
        'RequiredDuringSchedulingIgnoredDuringExecution',
        'requiredDuringSchedulingIgnoredDuringExecution',
        '*core.NodeSelector',
      ],
      [
        'PreferredDuringSchedulingIgnoredDuringExecution',
        'preferredDuringSchedulingIgnoredDuringExecution',
        '[]core.PreferredSchedulingTerm',
      ],
    ],
    'core.PodAffinity': SELECTED_TERMS('core.PodAffinityTerm'),
    'core.PodAntiAffinity': SELECTED_TERMS('core.PodAffinityTerm'),
    'core.NodeSelector': [['NodeSelectorTerms', 'nodeSelectorTerms', '[]core.NodeSelectorTerm']],
    'core.PreferredSchedulingTerm': [
      ['Weight', 'weight', 'int'],
      ['Preference', 'preference', 'core.NodeSelectorTerm'],
    ],
    'core.WeightedPodAffinityTerm': [
      ['Weight', 'weight', 'int'],
      ['PodAffinityTerm', 'podAffinityTerm', 'core.PodAffinityTerm'],
    ],
    'core.PodAffinityTerm': [
      ['LabelSelector', 'labelSelector', '*v1.LabelSelector'],
      ['Namespaces', 'namespaces', '[]string'],
      ['TopologyKey', 'topologyKey', 'string'],
      ['NamespaceSelector', 'namespaceSelector', '*v1.LabelSelector'],
      ['MatchLabelKeys', 'matchLabelKeys', '[]string'],
      ['MismatchLabelKeys', 'mismatchLabelKeys', '[]string'],
    ],
    'v1.LabelSelector': [
      ['MatchLabels', 'matchLabels', 'map'],
      ['MatchExpressions', 'matchExpressions', '[]v1.LabelSelectorRequirement'],
    ],
    'v1.LabelSelectorRequirement': [
      ['Key', 'key', 'string'],
      ['Operator', 'operator', 'string'],
      ['Values', 'values', '[]string'],
    ],
    'core.PodDNSConfig': [
      ['Nameservers', 'nameservers', '[]string'],
      ['Searches', 'searches', '[]string'],
      ['Options', 'options', '[]core.PodDNSConfigOption'],
    ],
    'core.PodDNSConfigOption': [
      ['Name', 'name', 'string'],
      ['Value', 'value', '*string'],
    ],
    'core.PodOS': [['Name', 'name', 'string']],
    'core.Probe': [
      ['ProbeHandler', '', 'inline:core.ProbeHandler'],
      ['InitialDelaySeconds', 'initialDelaySeconds', 'int'],
      ['TimeoutSeconds', 'timeoutSeconds', 'int'],
      ['PeriodSeconds', 'periodSeconds', 'int'],
      ['SuccessThreshold', 'successThreshold', 'int'],
      ['FailureThreshold', 'failureThreshold', 'int'],
      ['TerminationGracePeriodSeconds', 'terminationGracePeriodSeconds', '*int64'],
    ],
    'core.ProbeHandler': [...HANDLER, ['GRPC', 'grpc', '*core.GRPCAction']],
    'core.LifecycleHandler': [...HANDLER, ['Sleep', 'sleep', '*core.SleepAction']],
    'core.Lifecycle': [
      ['PostStart', 'postStart', '*core.LifecycleHandler'],
      ['PreStop', 'preStop', '*core.LifecycleHandler'],
    ],
    'core.ExecAction': [['Command', 'command', '[]string']],
    'core.SleepAction': [['Seconds', 'seconds', 'int']],
    'core.EnvVarSource': [
      ['FieldRef', 'fieldRef', '*core.ObjectFieldSelector'],
      ['ResourceFieldRef', 'resourceFieldRef', '*core.ResourceFieldSelector'],
      ['ConfigMapKeyRef', 'configMapKeyRef', '*core.ConfigMapKeySelector'],
      ['SecretKeyRef', 'secretKeyRef', '*core.SecretKeySelector'],
    ],
    'core.ObjectFieldSelector': [
      ['APIVersion', 'apiVersion', 'string'],
      ['FieldPath', 'fieldPath', 'string'],
    ],
    'core.HostPathVolumeSource': [
      ['Path', 'path', 'string'],
      ['Type', 'type', '*string'],
    ],
    'core.KeyToPath': [
      ['Key', 'key', 'string'],
      ['Path', 'path', 'string'],
      ['Mode', 'mode', '*int32'],
    ],
    'core.SecretVolumeSource': [['SecretName', 'secretName', 'string'], ...LISTED],
    'core.ConfigMapVolumeSource': [['LocalObjectReference', '', 'inline:core.LocalObjectReference'], ...LISTED],
    'core.PersistentVolumeClaimVolumeSource': [
      ['ClaimName', 'claimName', 'string'],
      ['ReadOnly', 'readOnly', 'bool'],
    ],
    'core.ProjectedVolumeSource': [
      ['Sources', 'sources', '[]core.VolumeProjection'],
      ['DefaultMode', 'defaultMode', '*int32'],
    ],
    'core.VolumeProjection': [
      ['Secret', 'secret', '*core.SecretProjection'],
      ['DownwardAPI', 'downwardAPI', '*core.DownwardAPIProjection'],
      ['ConfigMap', 'configMap', '*core.ConfigMapProjection'],
      ['ServiceAccountToken', 'serviceAccountToken', '*core.ServiceAccountTokenProjection'],
      ['ClusterTrustBundle', 'clusterTrustBundle', '*core.ClusterTrustBundleProjection'],
    ],
    'core.SecretProjection': PROJECTED,
    'core.ConfigMapProjection': PROJECTED,
    'core.DownwardAPIProjection': [['Items', 'items', '[]core.DownwardAPIVolumeFile']],
    'core.DownwardAPIVolumeSource': [
      ['Items', 'items', '[]core.DownwardAPIVolumeFile'],
      ['DefaultMode', 'defaultMode', '*int32'],
    ],
    'core.DownwardAPIVolumeFile': [
      ['Path', 'path', 'string'],
      ['FieldRef', 'fieldRef', '*core.ObjectFieldSelector'],
      ['ResourceFieldRef', 'resourceFieldRef', '*core.ResourceFieldSelector'],
      ['Mode', 'mode', '*int32'],
    ],
    'core.ConfigMapEnvSource': NAMED,
    'core.SecretEnvSource': NAMED,
    'core.ConfigMapKeySelector': KEYED,
    'core.SecretKeySelector': KEYED,
    'core.ServiceAccountTokenProjection': [
      ['Audience', 'audience', 'string'],
      ['ExpirationSeconds', 'expirationSeconds', 'int'],
      ['Path', 'path', 'string'],
    ],
    'core.EphemeralContainerCommon': GO_STRUCTS['core.Container'] ?? [],
    'core.EphemeralContainer': [
      ['EphemeralContainerCommon', '', 'inline:core.EphemeralContainerCommon'],
      ['TargetContainerName', 'targetContainerName', 'string'],
    ],
    'core.PersistentVolumeClaimSpec': [
      ['AccessModes', 'accessModes', '[]core.PersistentVolumeAccessMode'],
      ['Selector', 'selector', '*v1.LabelSelector'],
      ['Resources', 'resources', 'core.VolumeResourceRequirements'],
      ['VolumeName', 'volumeName', 'string'],
      ['StorageClassName', 'storageClassName', '*string'],
      ['VolumeMode', 'volumeMode', '*string'],
      ['DataSource', 'dataSource', '*core.TypedLocalObjectReference'],
      ['DataSourceRef', 'dataSourceRef', '*core.TypedObjectReference'],
      ['VolumeAttributesClassName', 'volumeAttributesClassName', '*string'],
    ],
    'core.VolumeResourceRequirements': [
      ['Limits', 'limits', 'amounts'],
      ['Requests', 'requests', 'amounts'],
    ],
    'core.TypedLocalObjectReference': [
      ['APIGroup', 'apiGroup', '*string'],
      ['Kind', 'kind', 'string'],
      ['Name', 'name', 'string'],
    ],
    'core.TypedObjectReference': [
      ['APIGroup', 'apiGroup', '*string'],
      ['Kind', 'kind', 'string'],
      ['Name', 'name', 'string'],
      ['Namespace', 'namespace', '*string'],
    ],
    'core.PersistentVolumeSource': [
      ['GCEPersistentDisk', 'gcePersistentDisk', '*core.GCEPersistentDiskVolumeSource'],
      ['AWSElasticBlockStore', 'awsElasticBlockStore', '*core.AWSElasticBlockStoreVolumeSource'],
      ['HostPath', 'hostPath', '*core.HostPathVolumeSource'],
      ['Glusterfs', 'glusterfs', '*core.GlusterfsPersistentVolumeSource'],
      ['NFS', 'nfs', '*core.NFSVolumeSource'],
      ['RBD', 'rbd', '*core.RBDPersistentVolumeSource'],
      ['Quobyte', 'quobyte', '*core.QuobyteVolumeSource'],
      ['ISCSI', 'iscsi', '*core.ISCSIPersistentVolumeSource'],
      ['FlexVolume', 'flexVolume', '*core.FlexPersistentVolumeSource'],
      ['Cinder', 'cinder', '*core.CinderPersistentVolumeSource'],
      ['CephFS', 'cephfs', '*core.CephFSPersistentVolumeSource'],
      ['FC', 'fc', '*core.FCVolumeSource'],
      ['Flocker', 'flocker', '*core.FlockerVolumeSource'],
      ['AzureFile', 'azureFile', '*core.AzureFilePersistentVolumeSource'],
      ['VsphereVolume', 'vsphereVolume', '*core.VsphereVirtualDiskVolumeSource'],
      ['AzureDisk', 'azureDisk', '*core.AzureDiskVolumeSource'],
      ['PhotonPersistentDisk', 'photonPersistentDisk', '*core.PhotonPersistentDiskVolumeSource'],
      ['PortworxVolume', 'portworxVolume', '*core.PortworxVolumeSource'],
      ['ScaleIO', 'scaleIO', '*core.ScaleIOPersistentVolumeSource'],
      ['Local', 'local', '*core.LocalVolumeSource'],
      ['StorageOS', 'storageos', '*core.StorageOSPersistentVolumeSource'],
      ['CSI', 'csi', '*core.CSIPersistentVolumeSource'],
    ],
    'core.NFSVolumeSource': [
      ['Server', 'server', 'string'],
      ['Path', 'path', 'string'],
      ['ReadOnly', 'readOnly', 'bool'],
    ],
    'core.LocalVolumeSource': [
      ['Path', 'path', 'string'],
      ['FSType', 'fsType', '*string'],
    ],
  };
