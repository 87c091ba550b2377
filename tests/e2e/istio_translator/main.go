// Command istio-translate prints the configuration that Istio's control plane makes for the proxies of Gateways and Pods.
//
// Each FILE has Kubernetes' and Istio's objects as YAML. A Gateway with a class of Istio gets the Service and the Pod that
// Istio deploys for it, unless it names an address. Each Pod of a file is a proxy, too: with the annotation `proxy: router`
// one of a Gateway, else a sidecar. The output is one line for each file,
// `{"xds": {"NAMESPACE/NAME": {"configs": […]}}}`, each as Envoy's /config_dump; Pods are `Pod/NAMESPACE/NAME`.
package main

import (
	"encoding/json"
	"fmt"
	"os"
	"strings"
	"time"

	admin "github.com/envoyproxy/go-control-plane/envoy/admin/v3"
	bootstrapv3 "github.com/envoyproxy/go-control-plane/envoy/config/bootstrap/v3"
	core "github.com/envoyproxy/go-control-plane/envoy/config/core/v3"
	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/anypb"
	"google.golang.org/protobuf/types/known/timestamppb"
	"istio.io/istio/pilot/pkg/features"
	"istio.io/istio/pilot/pkg/model"
	"istio.io/istio/pilot/test/xds"
	"istio.io/istio/pkg/log"
	"istio.io/istio/pkg/test"
	"sigs.k8s.io/yaml"
)

type object = map[string]any

func at(value any, path ...string) any {
	for _, name := range path {
		fields, ok := value.(object)
		if !ok {
			return nil
		}
		value = fields[name]
	}
	return value
}

func text(value any, path ...string) string {
	found, _ := at(value, path...).(string)
	return found
}

// A proxy: its name, the address of its Pod, and its type.
type deployed struct {
	namespace, name, deployment, address string
	labels                               map[string]string
	kind                                 model.NodeType
}

// deploy returns the proxy of a Gateway, and its objects: those that Istio's deployment controller makes.
func deploy(gateway object, class string, number int) (deployed, []object) {
	namespace, name := text(gateway, "metadata", "namespace"), text(gateway, "metadata", "name")
	proxy := deployed{namespace: namespace, name: name, address: fmt.Sprintf("10.90.%d.%d", number/200, number%200+1)}
	managed := "istio.io-gateway-controller"
	proxy.deployment, proxy.kind = name+"-"+class, model.Router
	if class == "istio-waypoint" {
		proxy.deployment, proxy.kind, managed = name, model.Waypoint, "istio.io-mesh-controller"
	}
	proxy.labels = map[string]string{
		"gateway.networking.k8s.io/gateway-name":       name,
		"istio.io/gateway-name":                        name,
		"gateway.networking.k8s.io/gateway-class-name": class,
		"gateway.istio.io/managed":                     managed,
		"service.istio.io/canonical-name":              proxy.deployment,
	}
	if own, ok := at(gateway, "metadata", "labels").(object); ok {
		for label, value := range own {
			proxy.labels[label] = fmt.Sprint(value)
		}
	}
	labels := object{}
	for label, value := range proxy.labels {
		labels[label] = value
	}
	var ports []any
	seen := map[any]bool{}
	listeners, _ := at(gateway, "spec", "listeners").([]any)
	for _, listener := range listeners {
		port := at(listener, "port")
		if !seen[port] {
			ports = append(ports, object{"name": fmt.Sprintf("http-%v", port), "port": port, "targetPort": port, "protocol": "TCP"})
		}
		seen[port] = true
	}
	host := fmt.Sprintf("%s.%s.svc.cluster.local", proxy.deployment, namespace)
	gateway["status"] = object{"addresses": []any{object{"type": "Hostname", "value": host}}}
	service := object{
		"apiVersion": "v1", "kind": "Service",
		"metadata": object{"name": proxy.deployment, "namespace": namespace, "labels": labels},
		"spec": object{
			"clusterIP": fmt.Sprintf("10.91.%d.%d", number/200, number%200+1), "ports": ports,
			"selector": object{"gateway.networking.k8s.io/gateway-name": name},
		},
	}
	pod := object{
		"apiVersion": "v1", "kind": "Pod",
		"metadata": object{"name": proxy.deployment + "-1", "namespace": namespace, "labels": labels},
		"spec":     object{"serviceAccountName": proxy.deployment},
		"status": object{
			"phase": "Running", "podIP": proxy.address, "podIPs": []any{object{"ip": proxy.address}},
			"conditions": []any{object{"type": "Ready", "status": "True"}},
		},
	}
	return proxy, []object{service, pod}
}

// podOf returns the proxy of a Pod of the file, which gets an address and becomes ready.
func podOf(pod object, number int) deployed {
	proxy := deployed{namespace: text(pod, "metadata", "namespace"), kind: model.SidecarProxy, labels: map[string]string{}}
	proxy.deployment = text(pod, "metadata", "name")
	proxy.name, proxy.address = proxy.deployment, fmt.Sprintf("10.92.%d.%d", number/200, number%200+1)
	if text(pod, "metadata", "annotations", "proxy") == "router" {
		proxy.kind = model.Router
	}
	own, _ := at(pod, "metadata", "labels").(object)
	for label, value := range own {
		proxy.labels[label] = fmt.Sprint(value)
	}
	pod["status"] = object{
		"phase": "Running", "podIP": proxy.address, "podIPs": []any{object{"ip": proxy.address}},
		"conditions": []any{object{"type": "Ready", "status": "True"}},
	}
	return proxy
}

func dumped(message proto.Message) *anypb.Any {
	wrapped, err := anypb.New(message)
	if err != nil {
		panic(err)
	}
	return wrapped
}

// configuration returns the sections of a config dump of a proxy.
func configuration(server *xds.FakeDiscoveryServer, proxy deployed, updated time.Time) json.RawMessage {
	node := server.SetupProxy(&model.Proxy{
		Type:            proxy.kind,
		ConfigNamespace: proxy.namespace,
		ID:              proxy.deployment + "-1." + proxy.namespace,
		IPAddresses:     []string{proxy.address},
		Labels:          proxy.labels,
		Metadata: &model.NodeMetadata{
			Namespace: proxy.namespace, Labels: proxy.labels, ClusterID: "Kubernetes", IstioVersion: "1.31.0",
			WorkloadName: proxy.deployment,
		},
	})
	stamp := timestamppb.New(updated)
	listeners, routes, clusters := &admin.ListenersConfigDump{}, &admin.RoutesConfigDump{}, &admin.ClustersConfigDump{}
	made := server.Listeners(node)
	for _, listener := range made {
		listeners.DynamicListeners = append(listeners.DynamicListeners, &admin.ListenersConfigDump_DynamicListener{
			Name:        listener.Name,
			ActiveState: &admin.ListenersConfigDump_DynamicListenerState{Listener: dumped(listener), LastUpdated: stamp},
		})
	}
	for _, route := range server.RoutesFromListeners(node, made) {
		routes.DynamicRouteConfigs = append(routes.DynamicRouteConfigs,
			&admin.RoutesConfigDump_DynamicRouteConfig{RouteConfig: dumped(route), LastUpdated: stamp})
	}
	for _, cluster := range server.Clusters(node) {
		clusters.DynamicActiveClusters = append(clusters.DynamicActiveClusters,
			&admin.ClustersConfigDump_DynamicCluster{Cluster: dumped(cluster), LastUpdated: stamp})
	}
	bootstrap := &admin.BootstrapConfigDump{Bootstrap: &bootstrapv3.Bootstrap{
		Node: &core.Node{Id: node.ID, Metadata: node.Metadata.ToStruct()},
	}, LastUpdated: stamp}
	dump := &admin.ConfigDump{Configs: []*anypb.Any{dumped(bootstrap), dumped(clusters), dumped(listeners), dumped(routes)}}
	printed, err := protojson.Marshal(dump)
	if err != nil {
		panic(err)
	}
	return printed
}

func translate(t test.Failer, file string) map[string]json.RawMessage {
	content, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	var objects []object
	for _, document := range strings.Split("\n"+string(content), "\n---") {
		found := object{}
		if err := yaml.Unmarshal([]byte(document), &found); err != nil {
			t.Fatal(err)
		}
		if len(found) > 0 {
			objects = append(objects, found)
		}
	}
	controllers := map[string]string{"istio": "istio.io/gateway-controller", "istio-waypoint": "istio.io/mesh-controller"}
	for _, one := range objects {
		if text(one, "kind") == "GatewayClass" {
			controllers[text(one, "metadata", "name")] = text(one, "spec", "controllerName")
		}
	}
	var proxies, pods []deployed
	var kube, istio []string
	add := func(one object) {
		printed, err := yaml.Marshal(one)
		if err != nil {
			t.Fatal(err)
		}
		if strings.Contains(text(one, "apiVersion"), ".istio.io/") {
			istio = append(istio, string(printed))
		} else {
			kube = append(kube, string(printed))
		}
	}
	for _, one := range objects {
		class := text(one, "spec", "gatewayClassName")
		addresses, _ := at(one, "spec", "addresses").([]any)
		if text(one, "kind") == "Pod" {
			proxy := podOf(one, len(pods))
			pods = append(pods, proxy)
		}
		if text(one, "kind") == "Gateway" && strings.HasPrefix(controllers[class], "istio.io/") && len(addresses) == 0 {
			proxy, made := deploy(one, class, len(proxies))
			proxies = append(proxies, proxy)
			for _, extra := range made {
				add(extra)
			}
		}
		add(one)
	}
	server := xds.NewFakeDiscoveryServer(t, xds.FakeOptions{
		KubernetesObjectString: strings.Join(kube, "\n---\n"),
		ConfigString:           strings.Join(istio, "\n---\n"),
	})
	server.EnsureSynced(t)
	updated := time.Now().UTC()
	found := map[string]json.RawMessage{}
	for _, proxy := range proxies {
		found[proxy.namespace+"/"+proxy.name] = configuration(server, proxy, updated)
	}
	for _, proxy := range pods {
		found["Pod/"+proxy.namespace+"/"+proxy.name] = configuration(server, proxy, updated)
	}
	return found
}

func main() {
	options := log.DefaultOptions()
	options.OutputPaths = []string{"stderr"}
	options.SetDefaultOutputLevel("all", log.ErrorLevel)
	if err := log.Configure(options); err != nil {
		panic(err)
	}
	features.EnableAmbient = true
	for _, file := range os.Args[1:] {
		var found map[string]json.RawMessage
		err := test.Wrap(func(t test.Failer) { found = translate(t, file) })
		if found == nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		printed, err := json.Marshal(object{"xds": found})
		if err != nil {
			panic(err)
		}
		fmt.Println(string(printed))
	}
}
