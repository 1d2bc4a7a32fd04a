// The SINRs of the users of a wireless network by ns-3 (problems/wlan.py, backends ns3 and csma).
//
// packages: libns3-dev
// libraries: ns3-wifi ns3-propagation ns3-mobility ns3-network ns3-core
//
// On stdin, separated by white space:
//   MODE n u q
//   x y                  n times: a node, in m
//   x y i                u times: a user, in m, and its node, from 0
//   0|1 ...              n x n: row i says which nodes are in range of node i, itself included
//   RUN P_1 ... P_n      q times: the number of the run (ns-3's RngRun) and the transmission powers in dBm
// On stdout q lines of u SINRs in dB; -inf where nothing was decoded.
//
// Modes:
//   chain    received powers from the chain of propagation models, their ratio from the formula
//   csma     the mean over the data frames that a user decodes in one second of CSMA/CA
//   sniffer  all nodes send one frame at once: that of the frame from its own node, where a user decodes it
//
// Only what belongs to the same node, or to nodes in range, hears each other. Constants that are not set here are those of ns-3.

#include "ns3/core-module.h"
#include "ns3/mobility-module.h"
#include "ns3/network-module.h"
#include "ns3/propagation-module.h"
#include "ns3/version.h"
#include "ns3/wifi-module.h"

#include <sys/wait.h>
#include <unistd.h>

#include <cmath>
#include <cstdio>
#include <iostream>
#include <string>
#include <vector>

using namespace ns3;

namespace
{

const double EXPONENT = 3.0, REFERENCE = 46.6777;                                       // of the loss; dB up to 1 m
const double BOLTZMANN = 1.3803e-23, TEMPERATURE = 290.0, CHANNEL = 20e6, FIGURE = 7.0; // J/K, K, Hz, dB
const double SECONDS = 1.0, EVERY = 4e-3;                                               // simulated; between packets to a user
const uint32_t BYTES = 1400;                                                            // of a packet
const uint16_t PROTOCOL = 0x0800;

struct Query
{
    uint64_t run;
    std::vector<double> dbm; // by node
};

struct Network
{
    std::vector<Vector> places;           // of nodes, then of users
    std::vector<size_t> groups;           // the node that each of them belongs to
    std::vector<std::vector<bool>> heard; // by node
    size_t nodes = 0;
    std::vector<Query> queries;
};

struct Tally
{
    double sum = 0; // of SINRs as ratios
    double frames = 0;
};

template <typename Value>
Value
Next(const char* what)
{
    Value value;
    if (!(std::cin >> value))
    {
        std::cerr << "expected " << what << " on stdin" << std::endl;
        std::exit(2);
    }
    return value;
}

Network
Read()
{
    Network read;
    read.nodes = Next<size_t>("the number of nodes");
    const auto users = Next<size_t>("the number of users");
    const auto queries = Next<size_t>("the number of queries");
    for (size_t i = 0; i < read.nodes + users; ++i)
    {
        const auto x = Next<double>("a place");
        const auto y = Next<double>("a place");
        read.places.emplace_back(x, y, 0.0);
        read.groups.push_back(i < read.nodes ? i : Next<size_t>("the node of a user"));
        if (read.groups.back() >= read.nodes)
        {
            std::cerr << "expected a node from 0 to " << read.nodes - 1 << ", got " << read.groups.back() << std::endl;
            std::exit(2);
        }
    }
    read.heard.assign(read.nodes, std::vector<bool>(read.nodes));
    for (auto& row : read.heard)
    {
        for (size_t j = 0; j < read.nodes; ++j)
        {
            row[j] = Next<int>("0 or 1") != 0;
        }
    }
    for (size_t k = 0; k < queries; ++k)
    {
        Query query{Next<uint64_t>("the number of a run"), std::vector<double>(read.nodes)};
        for (auto& power : query.dbm)
        {
            power = Next<double>("a power");
        }
        read.queries.push_back(query);
    }
    return read;
}

std::vector<Ptr<MobilityModel>>
Placed(const Network& network)
{
    std::vector<Ptr<MobilityModel>> placed;
    for (const auto& place : network.places)
    {
        placed.push_back(CreateObject<ConstantPositionMobilityModel>());
        placed.back()->SetPosition(place);
    }
    return placed;
}

// The log-distance law, then silence between those that do not hear each other.
Ptr<PropagationLossModel>
Loss(const Network& network, const std::vector<Ptr<MobilityModel>>& placed)
{
    auto law = CreateObject<LogDistancePropagationLossModel>();
    law->SetPathLossExponent(EXPONENT);
    law->SetReference(1.0, REFERENCE);
    auto matrix = CreateObject<MatrixPropagationLossModel>(); // infinite unless set
    for (size_t a = 0; a < placed.size(); ++a)
    {
        for (size_t b = a + 1; b < placed.size(); ++b)
        {
            if (network.heard[network.groups[a]][network.groups[b]])
            {
                matrix->SetLoss(placed[a], placed[b], 0.0);
            }
        }
    }
    law->SetNext(matrix);
    return law;
}

double
Ratio(double decibels)
{
    return std::pow(10.0, decibels / 10.0);
}

void
Print(const std::vector<Tally>& users)
{
    for (size_t i = 0; i < users.size(); ++i)
    {
        const double mean = users[i].frames > 0 ? users[i].sum / users[i].frames : 0.0;
        std::printf("%s%.17g", i ? " " : "", 10.0 * std::log10(mean));
    }
    std::printf("\n");
    std::fflush(stdout);
}

void
Chain(const Network& network)
{
    const auto placed = Placed(network);
    const auto loss = Loss(network, placed);
    const double thermal = 1e3 * BOLTZMANN * TEMPERATURE * CHANNEL * Ratio(FIGURE); // mW
    for (const auto& query : network.queries)
    {
        std::vector<Tally> users;
        for (size_t j = network.nodes; j < placed.size(); ++j)
        {
            double signal = 0.0, rest = thermal;
            for (size_t i = 0; i < network.nodes; ++i)
            {
                const double received = Ratio(loss->CalcRxPower(query.dbm[i], placed[i], placed[j])); // mW
                (i == network.groups[j] ? signal : rest) += received;
            }
            users.push_back({signal / rest, 1.0});
        }
        Print(users);
    }
}

struct Listener
{
    Tally* tally;
    Mac48Address own; // of the user
    Mac48Address node;
};

// A frame of its own node that a user has decoded, and that is for it or for all.
void
Decoded(const Listener* listener,
        Ptr<const Packet> packet,
        uint16_t,
        WifiTxVector,
        MpduInfo,
        SignalNoiseDbm level,
        uint16_t)
{
    WifiMacHeader header;
    packet->PeekHeader(header);
    const auto receiver = header.GetAddr1();
    if (header.IsData() && header.GetAddr2() == listener->node && (receiver == listener->own || receiver.IsBroadcast()))
    {
        listener->tally->sum += Ratio(level.signal - level.noise);
        listener->tally->frames += 1;
    }
}

Mac48Address
Mac(Ptr<NetDevice> device)
{
    return Mac48Address::ConvertFrom(device->GetAddress());
}

NetDeviceContainer
Devices(const Network& network, const Query& query, bool sniffer)
{
    const auto placed = Placed(network);
    NodeContainer everyone;
    everyone.Create(placed.size());
    for (size_t i = 0; i < placed.size(); ++i)
    {
        everyone.Get(i)->AggregateObject(placed[i]);
    }
    auto channel = CreateObject<YansWifiChannel>();
    channel->SetPropagationLossModel(Loss(network, placed));
    channel->SetPropagationDelayModel(CreateObject<ConstantSpeedPropagationDelayModel>());
    YansWifiPhyHelper phy;
    phy.SetChannel(channel);
    phy.Set("RxNoiseFigure", DoubleValue(FIGURE));
    phy.Set("ChannelSettings", StringValue("{0, 20, BAND_5GHZ, 0}"));
    if (sniffer)
    { // nothing is too weak to disturb, and every frame is tried
        phy.Set("RxSensitivity", DoubleValue(-1000.0));
        phy.DisablePreambleDetectionModel();
    }
    WifiMacHelper mac;
    mac.SetType("ns3::AdhocWifiMac");
    WifiHelper wifi;
    wifi.SetStandard(WIFI_STANDARD_80211a);
    wifi.SetRemoteStationManager("ns3::ConstantRateWifiManager",
                                 "DataMode",
                                 StringValue("OfdmRate6Mbps"),
                                 "ControlMode",
                                 StringValue("OfdmRate6Mbps"));
    NetDeviceContainer devices;
    for (size_t i = 0; i < placed.size(); ++i)
    { // a user answers with the power of its node
        phy.Set("TxPowerStart", DoubleValue(query.dbm[network.groups[i]]));
        phy.Set("TxPowerEnd", DoubleValue(query.dbm[network.groups[i]]));
        devices.Add(wifi.Install(phy, mac, everyone.Get(i)));
    }
    return devices;
}

void
SendPacket(Ptr<NetDevice> from, Address to)
{
    from->Send(Create<Packet>(BYTES), to, PROTOCOL);
    Simulator::Schedule(Seconds(EVERY), &SendPacket, from, to);
}

// A frame for all, at once and without the MAC.
void
SendFrame(Ptr<WifiNetDevice> from)
{
    WifiMacHeader header(WIFI_MAC_DATA);
    header.SetAddr1(Mac48Address::GetBroadcast());
    header.SetAddr2(Mac(from));
    header.SetAddr3(Mac(from));
    WifiTxVector vector(OfdmPhy::GetOfdmRate6Mbps(), 0, WIFI_PREAMBLE_LONG, 800, 1, 1, 0, 20, false);
    from->GetPhy()->Send(Create<WifiPsdu>(Create<Packet>(BYTES), header), vector);
}

void
OnAir(const Network& network, const Query& query, bool sniffer)
{
    RngSeedManager::SetRun(query.run);
    const auto devices = Devices(network, query, sniffer);
    const size_t users = network.places.size() - network.nodes;
    std::vector<Tally> tallies(users);
    std::vector<Listener> listeners(users);
    for (size_t k = 0; k < users; ++k)
    {
        const auto user = DynamicCast<WifiNetDevice>(devices.Get(network.nodes + k));
        const auto node = devices.Get(network.groups[network.nodes + k]);
        listeners[k] = {&tallies[k], Mac(user), Mac(node)};
        user->GetPhy()->TraceConnectWithoutContext("MonitorSnifferRx",
                                                   MakeBoundCallback(&Decoded, const_cast<const Listener*>(&listeners[k])));
        if (!sniffer)
        {
            const auto start = Seconds(EVERY * static_cast<double>(k) / static_cast<double>(users));
            Simulator::Schedule(start, &SendPacket, node, user->GetAddress());
        }
    }
    for (size_t i = 0; sniffer && i < network.nodes; ++i)
    {
        Simulator::Schedule(Seconds(SECONDS / 2), &SendFrame, DynamicCast<WifiNetDevice>(devices.Get(i)));
    }
    Simulator::Stop(Seconds(SECONDS));
    Simulator::Run();
    Print(tallies);
    Simulator::Destroy();
}

// In a process of its own: ns-3 numbers its random streams through, so that a second run would draw other numbers than alone.
void
Apart(const Network& network, const Query& query, bool sniffer)
{
    const pid_t child = fork();
    if (child == 0)
    {
        OnAir(network, query, sniffer);
        _exit(0);
    }
    int status = 0;
    if (child < 0 || waitpid(child, &status, 0) < 0 || status != 0)
    {
        std::cerr << "expected run " << query.run << " to end well, got status " << status << std::endl;
        std::exit(3);
    }
}

} // namespace

int
main(int count, char** arguments)
{
    if (count == 2 && std::string(arguments[1]) == "--version")
    {
        std::cout << "ns-" << Version::Major() << "." << Version::Minor() << "." << Version::Patch() << std::endl;
        return 0;
    }
    const auto mode = Next<std::string>("chain, csma or sniffer");
    if (count > 1 || (mode != "chain" && mode != "csma" && mode != "sniffer"))
    {
        std::cerr << "expected --version alone, or chain, csma or sniffer on stdin, got " << mode << std::endl;
        return 2;
    }
    const auto network = Read();
    if (mode == "chain")
    {
        Chain(network);
        return 0;
    }
    for (const auto& query : network.queries)
    {
        Apart(network, query, mode == "sniffer");
    }
    return 0;
}
